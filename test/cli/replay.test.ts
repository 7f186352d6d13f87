import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordRetries, startWebhookService } from '../client/webhook-service.ts'
import { useFolder } from './folder.ts'
import { ended, readLines, runCli, startCli } from './run-cli.ts'
import { ADA } from './serve.ts'

const folder = useFolder()

/** A service whose webhook w1 has so many failed deliveries, of the events e0, e1 and so on. */
async function serveFailures(count: number) {
  const service = await startWebhookService()
  onTestFinished(() => service.close())
  service.add()
  for (let n = 0; n < count; n++) service.fail('w1', `e${n}`)
  const retried = recordRetries(service)
  const env = { ...ADA, POSTERN_BASE_URL: service.url }
  const args = (more: readonly string[]) => ['replay', '--webhook', 'w1', '--retries', '0', ...more]
  return {
    service,
    retried,
    /** Returns the output without the lines of progress, which appear on slow machines. */
    run: async (...more: string[]) => {
      const { stderr, ...result } = await runCli(args(more), { env })
      return { ...result, stderr: stderr.replace(/^(reading the log|(retrying|waiting for) .*|\{.*)\n/gm, '') }
    },
    start: (more: readonly string[]) => startCli(args(more), { env }),
  }
}

describe('postern replay', () => {
  it('replays the failures, the oldest first, and reports it', async () => {
    const { run, retried } = await serveFailures(3)
    expect(await run('--concurrency', '1', '--failed')).toEqual({ code: 0, stdout: '', stderr: '3 succeeded\n' })
    expect(retried).toEqual(['e0', 'e1', 'e2'])
    expect(await run()).toEqual({ code: 0, stdout: '', stderr: 'nothing to retry\n' })
  })

  it('asks for none with --limit 0, and counts those that it could', async () => {
    const { run, retried } = await serveFailures(3)
    expect(await run('--limit', '0')).toEqual({
      code: 0,
      stdout: '',
      stderr: '3 to retry, none asked for (--limit 0)\n',
    })
    expect(retried).toEqual([])
  })

  it('sends no event that was delivered, or is on its way', async () => {
    const { run, service, retried } = await serveFailures(1)
    service.fail('w1', 'e0', { status: 'success' })
    service.fail('w1', 'e9')
    service.fail('w1', 'e9', { status: 'pending' })
    expect(await run()).toEqual(ended(0, /1 left out: delivered later\n1 left out: being delivered/))
    expect(retried).toEqual([])
  })

  it('lists the events on a dry run, and sends none', async () => {
    const { run, service, retried } = await serveFailures(2)
    service.fail('w1', 'e7', { eventType: 'sync.failed' })
    const { code, stdout, stderr } = await run('--dry-run')
    expect([code, stderr]).toEqual([0, expect.stringContaining('3 to retry\n')])
    expect(stdout).toMatch(/^planned +d2 +\S+ +contact.created +e0 +failed +5/m)
    const ids = async (...args: string[]) =>
      readLines((await run('--dry-run', '--json', ...args)).stdout).flatMap(({ eventId }) => eventId ?? [])
    expect(await ids('--type', 'contact.*')).toEqual(['e0', 'e1'])
    expect(await ids('--limit', '2')).toEqual(['e0', 'e1'])
    expect(await ids('--since', '2025-01-01T00:00:04Z')).toEqual(['e7'])
    expect(retried).toEqual([])
  })

  it('reports repeated failures, by error: 1', async () => {
    const { run, service } = await serveFailures(3)
    service.onRetry = (delivery) => {
      delivery.attempts++
      Object.assign(delivery, delivery.eventId === 'e0' ? { error: 'timeout' } : { responseStatus: 503 })
    }
    const { code, stdout, stderr } = await run()
    expect([code, stderr]).toEqual([1, '3 failed again\n  2 x 503\n  1 x timeout\n'])
    expect(stdout).toMatch(/^failed +d2 .* e0 +failed +6 +timeout$/m)
  })

  it.each([
    [409, 'not_retriable'],
    [404, 'gone'],
  ])('reports events that cannot be retried: %d', async (status, outcome) => {
    const { run, service } = await serveFailures(2)
    service.onAnswer = ({ path }) => (path.endsWith('/retry/d2') ? { status } : undefined)
    const { code, stdout } = await run('--json')
    const [first, second, summary] = readLines(stdout)
    expect(code).toBe(1)
    expect([first, second]).toMatchObject([
      { type: 'event', eventId: 'e0', outcome },
      { eventId: 'e1', outcome: 'succeeded' },
    ])
    expect(summary).toMatchObject({ type: 'summary', isComplete: true, retried: 1, succeeded: 1, [outcome]: 1 })
  })

  it('stops if the service refuses more, and reports its progress: 5', async () => {
    const { run, service } = await serveFailures(5)
    const busy = { status: 429, headers: { 'retry-after': '0' } }
    service.onAnswer = ({ path }) => (path.endsWith('/retry/d4') ? busy : undefined)
    const told = /^2 of 5 retried: .*Run the same .* Events that were delivered are left out then\.\n.*rate limit/s
    expect(await run('--concurrency', '1')).toEqual(ended(5, told))
  })

  it('asks above 20, and accepts one key as an answer', async () => {
    const { start, retried, run } = await serveFailures(21)
    const refused = start([])
    await refused.until(/21 events would be delivered again. \[y\/N]/)
    refused.press('n')
    expect(await refused.exitCode).toBe(1)
    expect(refused.stderr).toContain('nothing was changed')
    const interrupted = start([])
    await interrupted.until(/\[y\/N]/)
    interrupted.interrupt()
    expect(await interrupted.exitCode).toBe(130)
    expect(retried).toEqual([])
    expect((await run('--limit', '20')).stderr).toBe('20 succeeded\n')
    expect((await run('--json')).stderr).toBe('1 succeeded\n')
  })

  it('retries the confirmed events, and no later failures', async () => {
    const { start, service, retried } = await serveFailures(21)
    const running = start([])
    await running.until(/\[y\/N]/)
    service.fail('w1', 'meanwhile')
    running.press('y')
    expect(await running.exitCode).toBe(0)
    expect(retried.length).toBe(21)
    expect(retried).not.toContain('meanwhile')
  })

  it('reports that a paused webhook holds back the retries', async () => {
    const { run, service } = await serveFailures(2)
    service.onRetry = (delivery) => {
      delivery.status = 'pending'
    }
    Object.assign(service.webhooks.get('w1') ?? {}, { active: false })
    const { code, stderr } = await run('--timeout', '1ms')
    expect([code, stderr]).toEqual([5, expect.stringContaining('npx postern webhooks resume w1\n')])
  })

  it('shows its progress after a second', async () => {
    const { start, service } = await serveFailures(2)
    const shown = new EventTarget()
    const finished = once(shown, 'progress').then(() => ({ status: 202 }))
    service.onAnswer = ({ path }) => (path.endsWith('/retry/d3') ? finished : undefined)
    const running = start(['--concurrency', '1', '--json'])
    await running.until(/^\{"type":"progress","phase":"retrying","done":1,"total":2/m)
    shown.dispatchEvent(new Event('progress'))
    expect(await running.exitCode).toBe(0)
    expect(running.stderr).toMatch(/2 succeeded\n$/)
  })
})

describe('the journal', () => {
  it('lets an interrupted replay continue without repeating any event', async () => {
    const { start, run, service, retried } = await serveFailures(40)
    const journal = folder.at('resumed.journal')
    // Each fails again: without a journal all of them would be retried.
    service.onRetry = (delivery) => {
      retried.push(delivery.eventId)
      delivery.attempts++
    }
    service.onAnswer = ({ method }) => {
      if (method !== 'POST' || retried.length !== 20) return undefined
      running.interrupt()
      return 'hang'
    }
    const running = start(['--yes', '--journal', journal, '--concurrency', '1', '--json'])
    expect(await running.exitCode).toBe(130)
    const [summary] = readLines(running.stdout)
    expect(summary).toMatchObject({ type: 'summary', isComplete: false, total: 40, retried: 19 })
    expect(running.stderr).toMatch(/^19 of 40 retried: [\s\S]*No retry is repeated then.\npostern: interrupted\n$/m)
    expect((await stat(journal)).mode & 0o777).toBe(0o600)
    // The delivery whose answer was cut off has failed again in the log.
    const { code, stderr } = await run('--yes', '--journal', journal)
    expect([code, stderr]).toEqual([1, expect.stringContaining('20 retried by an earlier run, 20 by this one')])
    expect([retried.length, new Set(retried).size]).toEqual([40, 40])
  })

  it('keeps two runs at the same time from retrying anything twice', async () => {
    const { run, service, retried } = await serveFailures(10)
    service.onRetry = (delivery) => {
      retried.push(delivery.eventId)
      delivery.attempts++
    }
    const journal = folder.at('shared.journal')
    const all = await Promise.all([1, 2, 3].map(() => run('--journal', journal, '--json')))
    expect(all.map(({ code }) => code)).toEqual([1, 1, 1])
    expect(retried).toHaveLength(10)
    expect(all.map(({ stdout }) => readLines(stdout).at(-1)?.retried).toSorted()).toEqual([0, 0, 10])
    await writeFile(`${journal}.lock`, '')
    const { stderr } = await run('--journal', journal, '--dry-run')
    expect(stderr).not.toContain('waiting for another run')
  })

  it('keeps the time since which deliveries are replayed, whatever the next run asks for', async () => {
    const { run } = await serveFailures(1)
    const [whole, part] = [folder.at('whole.journal'), folder.at('part.journal')]
    await run('--journal', whole)
    await run('--journal', part, '--since', '2024-02-29')
    const words = 'as when the journal was begun'
    expect((await run('--journal', whole, '--since', '24h')).stderr).toContain(`deliveries of any time, ${words}\n`)
    expect((await run('--journal', part)).stderr).toContain(`deliveries since 2024-02-29T00:00:00.000Z, ${words}\n`)
    expect((await run('--journal', part, '--since', '2024-02-29')).stderr).not.toContain(words)
  })

  it.each([undefined, '{"webhookId":"w1","deliv'])('stays as it is in a dry run: %s', async (text) => {
    const { run } = await serveFailures(1)
    const journal = folder.at('dry.journal')
    if (text !== undefined) await writeFile(journal, text)
    expect((await run('--journal', journal, '--dry-run')).code).toBe(0)
    expect(await readFile(journal, 'utf8').catch(() => undefined)).toBe(text)
  })

  it('must be a journal and no other file', async () => {
    const { run, retried } = await serveFailures(1)
    const file = folder.at('letter.txt')
    await writeFile(file, 'Dear Ada')
    expect(await run('--journal', file)).toEqual(ended(2, 'not a journal'))
    expect(await run('--journal', folder.at('none', 'x'))).toMatchObject({ code: 2 })
    expect(await readFile(file, 'utf8')).toBe('Dear Ada')
    expect(retried).toEqual([])
  })
})

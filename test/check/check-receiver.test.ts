import { createServer } from 'node:http'
import { checkReceiver, formatReport, type Probe, type Report, urlProbe } from 'postern/check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { findFreePort } from '../support/programs.ts'
import { type Event, HandWritten, SECRET } from './faulty/hand-written.ts'
import { LeaksDigest } from './faulty/signatures.ts'

async function start(receiver: HandWritten): Promise<string> {
  const { port, close } = await listen(receiver.createServer())
  onTestFinished(close)
  return `http://127.0.0.1:${port}/webhooks`
}

describe('checkReceiver', () => {
  it('marks its events, so that they can be found and deleted', async () => {
    const seen: { readonly id: string; readonly accountKey: string }[] = []
    class Recording extends HandWritten {
      override parse(body: Buffer) {
        const event = super.parse(body)
        if (event !== undefined) seen.push(JSON.parse(body.toString()))
        return event
      }
    }
    const options = { secret: SECRET, accountKey: 'acme', only: ['bytes', 'time'] }
    await checkReceiver(await start(new Recording()), options)
    expect(seen.length).toBeGreaterThan(8)
    for (const { id, accountKey } of seen) {
      expect(id).toMatch(/^evt_chk_[0-9a-f]{10}_\d+$/)
      expect(accountKey).toBe('acme')
    }
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length)
  })

  it('sends records of other ids in each run, as a receiver that only inserts needs them', async () => {
    const seen: string[] = []
    class Recording extends HandWritten {
      override async receive(event: Event) {
        if (event.type.endsWith('.created')) seen.push(String(event.data?.record?._id))
        return super.receive(event)
      }
    }
    const url = await start(new Recording())
    for (let run = 0; run < 2; run++)
      await checkReceiver(url, { secret: SECRET, only: ['unknown-model', 'extra-fields'] })
    expect(new Set(seen).size).toBe(4)
  })

  it('ends soon when it is interrupted, whatever it waits for, and bases no result on it', async () => {
    const stop = new AbortController()
    const receiver = new HandWritten()
    const server = receiver.createServer()
    let isHanging = false
    const { port, close } = await listen(
      createServer((request, response) => {
        if (isHanging) stop.abort()
        else server.emit('request', request, response)
        isHanging = true
      }),
    )
    onTestFinished(close)
    const probe: Probe = { runs: async () => 0, fail: async () => {} }
    const options = {
      secret: SECRET,
      probe,
      timeoutMs: 600_000,
      patienceMs: 600_000,
      signal: stop.signal,
      only: ['effect-once', 'effect-ack-after-work'],
    }
    const running = checkReceiver(`http://127.0.0.1:${port}/webhooks`, options)
    const { checks } = await running
    expect(checks.map(({ status, reason }) => [status, reason])).toEqual([
      ['skipped', 'interrupted'],
      ['skipped', 'interrupted'],
    ])
  })

  it('blames the probe, and not the receiver, if the probe fails', async () => {
    const url = await start(new HandWritten())
    const probe = urlProbe(new URL(`http://127.0.0.1:${await findFreePort()}/probe`))
    const { checks } = await checkReceiver(url, { secret: SECRET, probe, only: ['effect-once'] })
    expect(checks[0]).toMatchObject({ status: 'fail', reason: expect.stringContaining('the connection was refused') })
    expect(checks[0]?.hint).toMatch(/^This says nothing about the receiver/)
  })
})

describe('a report', () => {
  const judge = async (): Promise<Report> => {
    const url = new URL(await start(new LeaksDigest()))
    url.username = 'ada'
    url.password = 'lovelace'
    url.search = '?token=opensesame'
    return checkReceiver(url, { secret: SECRET, skip: ['load', 'deadline', 'effect'] })
  }

  it('contains neither the secret, nor a digest, nor an answer of the target, in any form', async () => {
    const report = await judge()
    expect(report.checks.find(({ id }) => id === 'leak-digest')?.status).toBe('fail')
    for (const format of ['json', 'junit', 'markdown'] as const) {
      const text = formatReport(report, format)
      for (const word of [SECRET, 'lovelace', 'opensesame', 'expected sha256']) expect(text).not.toContain(word)
      expect(text).not.toMatch(/[0-9a-f]{40}/)
    }
    expect(JSON.parse(formatReport(report, 'json'))).toEqual(report)
  })

  it('is JUnit: a suite for each group, escaped', async () => {
    const junit = formatReport(await judge(), 'junit')
    expect(junit).toMatch(/<testsuite name="signature" tests="\d+" failures="0" skipped="0"/)
    expect(junit).toMatch(/<testsuite name="leak" tests="3" failures="1"/)
    expect(junit).toContain('<failure message="an answer holds the expected digest">sent: Deliveries without')
    expect(junit).toContain('<skipped message="not asked for"/>')
    expect(junit.replace(/<[^<>]*>/g, '')).not.toMatch(/[<>]/)
  })

  it('is Markdown: the failures, and no passes', async () => {
    const markdown = formatReport(await judge(), 'markdown')
    expect(markdown).toContain('| fail | `leak-digest` |')
    expect(markdown).toContain('### leak-digest')
    expect(markdown).not.toContain('accepts-valid')
  })

  it('has a line for the shell that sends the same', async () => {
    const { checks } = await judge()
    const reproOf = (id: string) => checks.find((check) => check.id === id)?.repro
    expect(reproOf('accepts-valid')).toMatch(/^curl -i 'http.*\| npx postern sign\)" --data-binary '\{"id": /)
    expect(reproOf('signature-short')).toContain('| npx postern sign | cut -c1-69)"')
    expect(reproOf('signature-missing')).not.toContain('x-service-signature')
    expect(reproOf('bytes-split-characters')).toMatch(/^npx postern check '.*' --only bytes-split-characters$/)
  })
})

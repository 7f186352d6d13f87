import { createServer, type ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { readLines, runCli, startCli } from './run-cli.ts'
import { APP } from './serve.ts'

const FAULTS = {
  answers: [{ answer: '429', count: 3, delayMs: 0 }],
  deliveries: { fail: 0, duplicate: 0, shuffle: false, latencyMs: [1, 2] },
}

/** Yields the answer with a wrong value in the place of each one that the commands read. */
function* spoil(value: unknown): Generator<unknown> {
  if (Array.isArray(value)) {
    yield { length: 1 }
    for (const [index, each] of value.entries()) for (const other of spoil(each)) yield value.with(index, other)
    return
  }
  if (typeof value !== 'object' || value === null) return yield { of: 'another kind' }
  yield null
  for (const [name, inner] of Object.entries(value)) {
    if (name === '_id') continue // a record may have any fields
    for (const other of spoil(inner)) yield { ...value, [name]: other }
  }
}

describe('a server that is not an emulator', () => {
  const ready = JSON.stringify({ type: 'ready' })
  const state = { settings: { retryScale: 1 }, clock: { isManual: false }, counts: { pending: 0 }, faults: FAULTS }
  const webhook = { id: "x'; rm -rf .", url: APP, accountKey: 'acme', events: ['contact.created'], active: false }
  /** Answers `ready` like an emulator, and everything else as the test says. */
  async function startOther(answer: (path: string, response: ServerResponse) => void) {
    const { port, close } = await listen(
      createServer(({ url = '' }, response) =>
        url.endsWith('/ready') ? response.end(ready) : answer(url.replace('/_emulator/', ''), response),
      ),
    )
    onTestFinished(close)
    return `http://127.0.0.1:${port}`
  }

  it.each([
    ['state', 'faults show'],
    ['events', 'trigger contact.created'],
    ['deliveries', 'trigger contact.created --watch'],
    ['clock', 'clock'],
    ['records', 'records list contact'],
    ['faults', 'faults set --fail 0.1'],
    ['stream', 'logs'],
  ])('ends every command with 3 and one line if its answer to %s has wrong values inside', async (wrong, command) => {
    const attempt = { number: 1, at: new Date(0).toISOString(), durationMs: 1, responseBody: '', url: APP }
    const delivery = { id: 'd1', eventId: 'e1', eventType: 'x', status: 'failed', nextAttemptAt: attempt.at }
    const right: Readonly<Record<string, object>> = {
      state: { ...state, webhooks: [webhook] },
      events: { events: [{ deliveries: ['d1'] }] },
      deliveries: { ...delivery, attempts: [attempt] },
      clock: { isManual: true, now: '', nextDueAt: '', inFlight: 0, moved: true },
      records: [{ _id: '1' }],
      faults: state.faults,
      stream: { type: 'attempt', delivery, attempt: { ...attempt, status: 500, failure: 'status' } },
    }
    let value: unknown
    const url = await startOther((path, response) => {
      const [name = ''] = path.split(/[/?]/)
      const body = JSON.stringify(name === wrong ? value : right[name])
      response.end(name === 'stream' ? `data: {}\n\ndata: ${body}\n\n` : body)
    })
    for (value of spoil(right[wrong])) {
      const { code, stdout, stderr } = await runCli(`${command} --emulator ${url} --json`)
      expect(code, JSON.stringify(value)).toBe(3)
      expect(stderr, JSON.stringify(value)).toMatch(/is not an emulator, or one of another version\.\n$/)
      expect(readLines(stdout).at(-1)).toMatchObject({ error: { code: 'unreachable' } })
    }
  })

  it('cannot reach the terminal, nor a line for the shell', async () => {
    const evil = '\u001b]0;owned\u0007\u202e'
    const refusing = await startOther((_path, response) =>
      response.writeHead(400).end(JSON.stringify({ message: evil })),
    )
    const refused = await runCli(`clock --emulator ${refusing} --json`)
    expect(refused).toMatchObject({ code: 2, stderr: 'postern: The emulator refused: ?]0;owned??\n' })
    expect(refused.stdout).not.toContain('\u202e')
    const lying = await startOther((path, response) =>
      response.end(JSON.stringify(path === 'state' ? { ...state, webhooks: [webhook] } : { events: [] })),
    )
    const { stderr } = await runCli(['trigger', 'contact.created', '--emulator', lying])
    expect(stderr).toContain(`so nothing is delivered. Resume it at ${lying}/_inspector\n`)
  })

  it.each([
    ['an event', ['trigger', 'contact.created', '--watch'], /^events/],
    ['a delivery', ['trigger', 'contact.created', '--watch'], /^deliveries/],
    ['its last state', ['logs'], /^state\?last/],
  ])('ends at Ctrl-C if it hangs when asked for %s', async (_what, command, hanging) => {
    let count = 0
    let isReached = () => {}
    const reached = new Promise<void>((resolve) => {
      isReached = resolve
    })
    const url = await startOther((path, response) => {
      const name = path === 'state' && count++ > 0 ? 'state?last' : path
      if (path === 'stream') isReached()
      if (hanging.test(name)) return isReached()
      if (path === 'stream') return response.write(`data: ${ready}\n\n`)
      response.end(JSON.stringify(path === 'state' ? { ...state, webhooks: [] } : { events: [{ deliveries: ['d1'] }] }))
    })
    const running = startCli([...command, '--emulator', url])
    await reached
    running.interrupt()
    expect(await running.exitCode).toBe(130)
    expect(running.stderr).toMatch(/interrupted|0 acknowledged, 0 failed\n$/)
    expect(running.stderr.includes('it may have occurred')).toBe(hanging.test('events'))
  })
})

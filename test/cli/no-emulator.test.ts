import { createServer, type ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FeedMessage } from '../../src/emulator/feed.ts'
import { describeMessage } from '../../src/emulator/http/describe.ts'
import { listen } from '../adapters/http/hosts.ts'
import { call, start } from '../emulator/support.ts'
import { readLines, runCli, startCli } from './run-cli.ts'

/** Takes the answers of an emulator in which every field has a value, by the first word of their paths. */
async function recordAnswers(): Promise<Readonly<Record<string, object>>> {
  const crm = await start({ port: false, faults: { latency: ['1ms', '2ms'] } })
  const ask = async (line: string, body?: object) => {
    const [method, path] = line.split(' ')
    return Object((await call(crm, `${method} /_emulator/${path}`, { body })).json)
  }
  const webhook = { url: 'http://127.0.0.1:1/', events: ['contact.created'], description: "x'; rm -rf ." }
  crm.webhooks.create({ ...webhook, active: true })
  const messages: FeedMessage[] = []
  crm.subscribe((message) => messages.push(message))
  const record = crm.records.create('contact', { _id: '1' })
  await crm.clock.advance('1h')
  const [{ id = '' } = {}] = crm.deliveries.list()
  const resent = await ask(`POST deliveries/${id}/resend`, {})
  const attempt = messages.find(({ type }) => type === 'attempt')
  const faults = await ask('POST faults', { answer: '429', count: 3 })
  const events = { events: [{ id: 'e1', type: 'contact.created', deliveries: [id] }] }
  const stream = attempt && describeMessage(attempt)
  const deliveries = { ...(await ask(`GET deliveries/${id}`)), resendOf: resent.resendOf, note: 'lost' }
  const clock = await ask('POST clock', { next: true })
  return { state: await ask('GET state'), events, deliveries, clock, records: [record], faults, stream: Object(stream) }
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
  const ready = JSON.stringify({ type: 'ready', bootId: '1', now: '' })
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
    const right = await recordAnswers()
    let value: unknown
    const url = await startOther((path, response) => {
      const [name = ''] = path.split(/[/?]/)
      const body = JSON.stringify(name === wrong ? value : right[name])
      response.end(name === 'stream' ? `data: ${ready}\n\ndata: ${body}\n\n` : body)
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
    const { state } = await recordAnswers()
    const webhooks = Object(state).webhooks.map((webhook: object) => ({
      ...webhook,
      id: "x'; rm -rf .",
      active: false,
    }))
    const lying = await startOther((path, response) =>
      response.end(JSON.stringify(path === 'state' ? { ...state, webhooks } : { events: [] })),
    )
    const { stderr } = await runCli(['trigger', 'contact.created', '--emulator', lying])
    expect(stderr).toContain(`so nothing is delivered. Resume it at ${lying}/_inspector\n`)
  })

  it.each([
    ['an event', ['trigger', 'contact.created', '--watch'], /^events/],
    ['a delivery', ['trigger', 'contact.created', '--watch'], /^deliveries/],
    ['its last state', ['logs'], /^state\?last/],
  ])('ends at Ctrl-C if it hangs when asked for %s', async (_what, command, hanging) => {
    const { state, events } = await recordAnswers()
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
      response.end(JSON.stringify(path === 'state' ? state : events))
    })
    const running = startCli([...command, '--emulator', url])
    await reached
    running.interrupt()
    expect(await running.exitCode).toBe(130)
    expect(running.stderr).toMatch(/interrupted|0 acknowledged, 0 failed\n$/)
    expect(running.stderr.includes('it may have occurred')).toBe(hanging.test('events'))
  })
})

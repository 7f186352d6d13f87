import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createReceiver, verify } from 'postern'
import { nodeHandler } from 'postern/node'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { SECRET } from '../check/faulty/hand-written.ts'
import { findFreePort } from '../support/programs.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { recordDeliveries } from './recording-server.ts'
import { ended, readLines, runCli } from './run-cli.ts'

describe('postern trigger --to', () => {
  it.each([
    ['contact.created', { record: { _id: expect.any(String), email: 'zoe@example.test' } }],
    ['opportunity.updated', { record: { _id: expect.any(String) } }],
    ['sync.failed', { error: 'vendor timed out' }],
    ['export.completed', { rows: 120 }],
    ['lead.scored --any-type', {}],
  ])('sends a signed %s', async (line, data) => {
    const [type] = line.split(' ')
    const { received, url } = await recordDeliveries()
    const { code, stdout, stderr } = await runCli(`trigger ${line} --to ${url}`)
    expect([code, received.length]).toEqual([0, 1])
    const [{ body, headers, event } = expect.fail()] = received
    expect(verify(body, headers['x-service-signature'], SECRET)).toBe(true)
    expect(event).toMatchObject({ type, accountKey: 'acme', data })
    expect(stdout).toMatch(new RegExp(`^\\d\\d:\\d\\d:\\d\\d  ${type} +${event.id} +200 +\\d+ ms\\n$`))
    expect(stderr).toBe('1 sent, 1 acknowledged\n')
  })

  it('changes the fields that the options name', async () => {
    const { received, url } = await recordDeliveries()
    const settings = ['data.record.email=new@example.test', 'data.record.__proto__=own', 'id=evt_mine']
    const line = `trigger contact.created --to ${url} --account globex --late 2h --set ${settings.join(' --set ')}`
    expect((await runCli(line)).code).toBe(0)
    const [{ event } = expect.fail()] = received
    expect(event).toMatchObject({ id: 'evt_mine', accountKey: 'globex' })
    const fields = Object.entries(event.data.record ?? {})
    expect(fields).toEqual(
      expect.arrayContaining([
        ['email', 'new@example.test'],
        ['__proto__', 'own'],
      ]),
    )
    const age = Date.now() - Date.parse(event.timestamp)
    expect(age).toBeGreaterThanOrEqual(7_200_000)
    expect(age).toBeLessThan(7_260_000)
  })

  it('reads the data from a file, from standard input or from the line', async () => {
    const folder = makeTestFolder()
    await writeFile(join(folder, 'data.json'), '\ufeff{"record": {"_id": "1"}}')
    const { received, url } = await recordDeliveries()
    const stdin = '{"record":{"_id":"2"}}'
    for (const data of [`@${folder}/data.json`, '-', '{"record":{"_id":"3"},"id":"3","data":{}}'])
      expect((await runCli(`trigger contact.created --to ${url} --data ${data}`, { stdin })).code).toBe(0)
    expect(received.map(({ event }) => event.data.record)).toEqual([{ _id: '1' }, { _id: '2' }, { _id: '3' }])
  })

  it('tells that the service sends only the _id of a deleted record', async () => {
    const { url } = await recordDeliveries()
    const told = async (line: string) => (await runCli(`trigger ${line} --to ${url}`)).stderr
    expect(await told('contact.deleted --set data.record.email=a@b.test')).toContain('only the _id')
    expect(await told('contact.deleted --set data.record._id=7')).not.toContain('only the _id')
  })

  it.each([
    ['a misspelt model', 'contcat.created', 'Did you mean contact.created?'],
    ['a misspelt field', 'contact.created --set data.record.emial=x', 'Did you mean data.record.email?'],
    ['data that is no JSON', 'contact.created --data {', 'not JSON'],
    ['data that is a list', 'contact.created --data []', 'is an object'],
    ['data that is a number', 'contact.created --data 5', 'is an object'],
    ['data that is null', 'contact.created --data null', 'is an object'],
    ['data that is a whole event', 'contact.created --data {"id":"1","type":"x","data":{}}', 'whole event'],
    ['data that is a record', 'contact.created --data {"email":"a@b.test"}', 'has the record in it: {"record"'],
    ['data of a file without an @', 'contact.created --data data.json', 'write @data.json'],
    ['data of a file that is not there', 'contact.created --data @/nowhere', 'cannot be read'],
    ['two times', 'contact.created --late 2h --set timestamp=2025-01-31T12:00:00Z', 'give one'],
    ['standard input twice', 'contact.created --data - --secret-stdin', 'either the secret or the data'],
    ['too much', 'contact.created --count 1000 --duplicate 1000', 'more than 100000'],
    ['another machine', 'contact.created --to https://hooks.example.test/', 'add --yes'],
  ])('refuses %s', async (_what, args, words) => {
    expect(await runCli(`trigger --to http://127.0.0.1:9/ ${args}`)).toEqual(ended(2, words))
  })

  it('sends duplicates concurrently', async () => {
    // None is answered before all have arrived.
    const gate = new EventTarget()
    const opened = once(gate, 'open')
    const { received, url } = await recordDeliveries(async (_request, count) => {
      if (count === 8) gate.dispatchEvent(new Event('open'))
      await opened
      return 200
    })
    expect((await runCli(`trigger contact.updated --to ${url} --duplicate 8 --concurrent 8`)).code).toBe(0)
    expect(received).toHaveLength(8)
  })

  it('sends so many a second, and in any order', async () => {
    const { url } = await recordDeliveries()
    const begin = performance.now()
    const { stdout } = await runCli(`trigger contact.updated --to ${url} --duplicate 30 --shuffle --rate 100 --json`)
    expect(performance.now() - begin).toBeGreaterThan(280)
    const copies = readLines(stdout).flatMap(({ type, copy }) => (type === 'attempt' ? [Number(copy)] : []))
    expect(copies.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1))
    expect(copies).not.toEqual(copies.toSorted((a, b) => a - b))
  })

  it('writes one object a line, the first of which reports that it is ready', async () => {
    const { received, url } = await recordDeliveries((_request, count) => (count === 1 ? 500 : 204))
    const { code, stdout } = await runCli(`trigger contact.updated --to ${url}?key=hidden --duplicate 2 --json`)
    expect(code).toBe(1)
    expect(stdout).not.toContain('hidden')
    const attempt = { type: 'attempt', eventType: 'contact.updated', eventId: received[0]?.event.id, error: null }
    expect(readLines(stdout)).toMatchObject([
      { type: 'ready', to: expect.stringContaining(url) },
      { ...attempt, copy: 1, status: 500, isAcknowledged: false },
      { ...attempt, copy: 2, status: 204, isAcknowledged: true },
      { type: 'summary', sent: 2, acknowledged: 1, failed: 1 },
    ])
  })

  it('exits 3 if nothing answers, with the reason', async () => {
    const url = `http://127.0.0.1:${await findFreePort()}/hooks`
    const { code, stdout, stderr } = await runCli(['trigger', 'contact.created', '--to', url])
    expect([code, stdout]).toEqual([3, expect.stringMatching(/ refused +\d+ ms\n$/)])
    expect(stderr).toContain(`nothing listens at ${url}. Is your app running`)
    const [, attempt] = readLines((await runCli(['trigger', 'contact.created', '--to', url, '--json'])).stdout)
    expect(attempt).toMatchObject({ status: null, error: 'refused', isAcknowledged: false })
    expect(String(attempt?.durationMs)).toMatch(/^\d+(\.\d)?$/)
  })

  it('follows no redirect, and reports it once', async () => {
    const { received, url } = await recordDeliveries(() => 307)
    const { code, stderr } = await runCli(['trigger', 'contact.created', '--to', url, '--count', '2'])
    expect([code, received.length]).toEqual([1, 2])
    expect(stderr.match(/does not follow redirects/g)).toHaveLength(1)
  })

  it('exits 130 when interrupted, with a summary', async () => {
    const stop = new AbortController()
    const { url } = await recordDeliveries((_request, count) => {
      if (count < 3) return 200
      stop.abort()
      return new Promise<number>(() => {})
    })
    const args = ['trigger', 'contact.created', '--to', url, '--count', '9', '--json']
    const { code, stdout, stderr } = await runCli(args, { interrupt: stop.signal })
    expect(code).toBe(130)
    expect(readLines(stdout).at(-1)).toEqual({ type: 'summary', sent: 2, acknowledged: 2, failed: 0, cutOff: 1 })
    expect(stderr).toBe('interrupted: 2 sent, 2 acknowledged; 1 cut off, which may have arrived\n')
  })

  it('shows the answer of a receiver of this package', async () => {
    const receiver = createReceiver({ secret: SECRET, logger: silentLogger }).on('contact.*', () => {})
    const { port, close } = await listen(createServer(nodeHandler(receiver)))
    onTestFinished(close)
    const args = ['trigger', 'contact.created', '--duplicate', '2', '--to', `http://127.0.0.1:${port}/`]
    expect((await runCli(args)).stdout).toMatch(/copy 1 +200 .* handled\n.*copy 2 +200 .* duplicate\n$/)
    const refused = await runCli(args, { env: { WEBHOOK_SECRET: 'another' } })
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('401: the signature in X-Service-Signature was not accepted'),
    })
    expect(refused.stdout).toContain(' unauthorized\n')
  })
})

import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../support/runs.ts'
import { call, quiet, start } from './support.ts'

const WEBHOOKS = '/api/integrations/webhooks'

/** Fails on log lines: in these tests only faults are logged. */
async function scene(port: number | false = false) {
  const failures: unknown[] = []
  const crm = await start({
    port,
    rateLimit: '100000/60s',
    loginRateLimit: '100000/60s',
    logger: { ...quiet, error: (fields) => failures.push(fields) },
  })
  const token = await crm.login()
  const { id } = crm.webhooks.create({ url: 'http://localhost/', events: ['sync.failed'], active: false })
  return { crm, token, id, failures }
}

const routesOf = (id: string) => [
  'POST /api/identity/auth/login',
  `POST ${WEBHOOKS}`,
  `PUT ${WEBHOOKS}/${id}`,
  'POST /_emulator/reset',
  'POST /_emulator/clock',
  'POST /_emulator/accounts',
  'POST /_emulator/records/contact',
  'POST /_emulator/events',
  'POST /_emulator/faults',
]

/** Objects, since another test judges what is refused before it is looked at. */
const BODIES: readonly (readonly [string, string])[] = [
  [
    'every field of a wrong type',
    '{"url":{},"events":{"length":1},"active":1,"description":[],"email":[],"password":{},"type":1,"advance":{},"key":1,"answer":[],"count":"1"}',
  ],
  ['prototype names', '{"__proto__":{"url":"x"},"constructor":{"prototype":{}},"toString":1,"hasOwnProperty":null}'],
  ['deep arrays', `{"type":"x.y","data":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
  ['deep objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ['many keys', `{${Array.from({ length: 5_000 }, (_, index) => `"k${index}":1`).join(',')}}`],
  ['long text', `{"url":"http://localhost/${'x'.repeat(900_000)}","events":["${'y'.repeat(100_000)}"]}`],
  ['many events', `{"url":"http://localhost/","events":[${'"a.b",'.repeat(100_000)}"a.b"]}`],
  ['control characters', '{"email":"\\u0000\\r\\nX-Evil: 1","password":"\\ud800","type":"a\\u0000.b","key":"\\n"}'],
  ['negative and huge numbers', '{"advance":-1,"count":1e308,"delayMs":-1}'],
]

describe('a body that makes no sense', () => {
  it.each(BODIES)('is refused with 4xx, or accepted, and breaks nothing: %s', async (_what, body) => {
    const { crm, token, id, failures } = await scene()
    for (const line of routesOf(id)) {
      const { status } = await call(crm, line, { token, body, headers: { 'content-type': 'application/json' } })
      expect(status, line).toBeLessThan(500)
    }
    expect(failures).toEqual([])
    expect((await call(crm, 'GET /_emulator/state')).status).toBe(200)
    expect(Object.hasOwn(Object.prototype, 'url')).toBe(false)
  })
})

describe('a path that makes no sense', () => {
  it.each([
    '%',
    '%00',
    '..%2f..%2f',
    'constructor',
    '__proto__',
    'x'.repeat(10_000),
    '//',
    '?page=-1',
    '?before=__proto__',
    '?cursor=x',
  ])('%s is answered below 500', async (odd) => {
    const { crm, token, id, failures } = await scene()
    for (const line of [
      `GET ${WEBHOOKS}/${odd}`,
      `GET ${WEBHOOKS}${odd.startsWith('?') ? odd : ''}`,
      `GET ${WEBHOOKS}/${odd}/deliveries`,
      `GET ${WEBHOOKS}/${id}/deliveries${odd.startsWith('?') ? odd : ''}`,
      `POST ${WEBHOOKS}/${id}/retry/${odd}`,
      `DELETE ${WEBHOOKS}/${odd}x`,
      `GET /api/sales/contacts${odd.startsWith('?') ? odd : ''}`,
      `GET /_emulator/records/${odd}`,
      `GET /_emulator/records/contact/${odd}`,
      `DELETE /_emulator/records/${odd}/x`,
      `GET /_emulator/deliveries/${odd}`,
      `GET /${odd}`,
    ])
      expect((await call(crm, line, { token })).status, line.slice(0, 100)).toBeLessThan(500)
    expect(failures).toEqual([])
  })
})

it.each(['constructor', '__proto__', 'toString'])('separates an account and records with the name %s', async (name) => {
  const crm = await start({ port: false, accounts: [{ key: 'constructor', email: 'toString', password: '__proto__' }] })
  const token = await crm.login({ accountKey: 'constructor' })
  expect((await call(crm, 'GET /api/sales/contacts', { token })).json).toEqual([])
  expect((await call(crm, `GET ${WEBHOOKS}/${name}`, { token })).status).toBe(404)
  expect((await call(crm, `GET /_emulator/deliveries/${name}`)).status).toBe(404)
  expect((await call(crm, `GET /_emulator/records/contact/${name}`)).status).toBe(404)
  const made = await call(crm, 'POST /_emulator/records/constructor?accountKey=constructor', {
    body: `{"_id":"${name}","__proto__":{"x":1}}`,
  })
  expect(made.text).toBe(`{"_id":"${name}","__proto__":{"x":1}}`)
  expect((await call(crm, 'GET /_emulator/records/constructor')).json).toEqual([])
})

it('any JSON: never a 5xx, and no failure of the emulator', async () => {
  const { crm, token, id, failures } = await scene()
  const keys = fc.constantFrom(
    ...['url', 'events', 'active', 'type', 'data', 'count', 'id', 'timestamp', 'advance', 'next', 'key', 'email'],
    ...['password', 'deliveries', '_id', '__proto__'],
  )
  const bodies = fc.dictionary(keys, fc.jsonValue({ maxDepth: 3 }))
  const line = fc.constantFrom(...routesOf(id))
  await fc.assert(
    fc.asyncProperty(line, bodies, async (route, body) => {
      const { status } = await call(crm, route, { token, body: JSON.stringify(body) })
      expect(status).toBeLessThan(500)
    }),
    runs(100, 2_000),
  )
  expect(failures).toEqual([])
})

describe('a connection that makes no sense', () => {
  const raw = (url: string, text: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text))
      let answer = ''
      socket.on('data', (part) => {
        answer += part
        socket.end()
      })
      socket.on('error', () => resolve(answer)).on('close', () => resolve(answer))
    })

  it.each([
    ['a foreign absolute address', 'GET http://evil.test/_emulator/state HTTP/1.1\r\nHost: evil.test\r\n\r\n'],
    ['an odd Host', 'GET /_emulator/state HTTP/1.1\r\nHost: localhost/../x\r\n\r\n'],
  ])('%s is refused', async (_what, text) => {
    const { crm } = await scene(0)
    expect(await raw(crm.url, text)).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect((await call(crm, 'GET /_emulator/ready')).status).toBe(200)
  })

  it('an upload that is cut off harms nothing', async () => {
    const { crm, failures } = await scene(0)
    const socket = connect(Number(new URL(crm.url).port), '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    await new Promise((resolve) =>
      socket.write(
        'POST /_emulator/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"type":',
        resolve,
      ),
    )
    socket.destroy()
    expect((await call(crm, 'GET /_emulator/ready')).status).toBe(200)
    await crm.close()
    expect(failures).toEqual([])
  })
})

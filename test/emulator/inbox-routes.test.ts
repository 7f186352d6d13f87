import { type IncomingHttpHeaders, request } from 'node:http'
import { DeadLetter, type InboxTry, PosternError } from 'postern'
import type { InboxView } from 'postern/emulator'
import { events } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ListedEntry } from '../../src/engine.ts'
import type { InboxRows } from '../../tools/emulator/inspector/inbox-shapes.ts'
import { serveInbox } from '../../tools/emulator/inspector/serve-inbox.ts'
import { Scene, until } from '../inbox/scene.ts'
import { call, pick, serve as serveReceiver, start } from './support.ts'

const TOKEN = 'a token that nobody can guess'

/** An inbox with one dead letter of a receiver with that name. */
async function fill(id = 'evt_dead', name = 'default'): Promise<Scene> {
  const scene = new Scene({ name })
  scene.receiver.on('contact.created', () => {
    throw new DeadLetter('no such customer')
  })
  await scene.deliver(events.contact.created({}, { id }))
  scene.work()
  await until('it is dead', () => scene.dead.length === 1)
  return scene
}

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

/** Sends one request with exactly these headers: fetch would set some, and forbid others. */
function send(url: string, headers: Readonly<Record<string, string>> = {}, body?: object): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const sent = request(url, { method: body === undefined ? 'GET' : 'POST', headers: { ...type, ...headers } })
    sent.on('error', reject).on('response', async (response) => {
      let text = ''
      for await (const part of response) text += part
      const json = text.startsWith('{') ? JSON.parse(text) : {}
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json })
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

async function serve(inbox: InboxView, isWritable = false) {
  const actions: string[] = []
  const faults: unknown[] = []
  const server = await serveInbox(inbox, {
    port: 0,
    token: TOKEN,
    isWritable,
    onAction: (action, key) => void actions.push(`${action} ${key}`),
    onFault: (error) => void faults.push(error),
  })
  onTestFinished(() => server[Symbol.asyncDispose]())
  const { origin, port } = new URL(server.url)
  const cookie = { cookie: `postern-inbox-${port}=${encodeURIComponent(TOKEN)}` }
  return { url: server.url, origin, port, cookie, actions, faults, routes: `${origin}/_inspector/inbox` }
}

describe('the page of an inbox alone', () => {
  it('refuses callers without the token, and keeps it out of the address', async () => {
    const { url, origin, port, cookie, routes } = await serve((await fill()).inbox)
    for (const path of ['/', '/_inspector', '/_inspector/', '/_inspector/inbox/counts', '/nothing'])
      expect((await send(origin + path)).status, path).toBe(401)
    const advice = expect.stringMatching(/^open the link that `npx postern inbox serve` printed.*\n?$/)
    expect(await send(`${origin}/_inspector`)).toMatchObject({ text: advice, json: {} })
    const { headers, json } = await send(`${routes}/counts`)
    expect([headers['content-type'], json.message]).toEqual(['application/json', advice])
    const entered = await send(url)
    expect([entered.status, entered.headers.location]).toEqual([303, '/_inspector'])
    expect(entered.headers['set-cookie']).toEqual([
      `postern-inbox-${port}=${encodeURIComponent(TOKEN)}; Path=/_inspector; HttpOnly; SameSite=Lax`,
    ])
    expect((await send(`${origin}/_inspector`, cookie)).status).toBe(200)
    expect((await send(`${routes}/counts`, cookie)).json).toMatchObject({ dead: 1, isWritable: false })
    const wrong = await send(`${origin}/_inspector?token=${TOKEN}x`, cookie)
    expect([wrong.status, wrong.headers['set-cookie']]).toEqual([401, undefined])
    for (const value of ['', 'x', `${encodeURIComponent(TOKEN)}x`])
      expect((await send(`${routes}/counts`, { cookie: `postern-inbox-${port}=${value}` })).status).toBe(401)
  })

  it('answers to no other name, and to no page of another origin', async () => {
    const { routes, cookie, origin, port, faults } = await serve((await fill()).inbox, true)
    const status = async (headers: Readonly<Record<string, string>>) =>
      (await send(`${routes}/counts`, { ...cookie, ...headers })).status
    expect(await status({ host: `evil.test:${port}` })).toBe(403)
    expect(await status({ host: '127.999.1.1' })).toBe(403)
    expect(faults).toEqual([])
    expect(await status({ origin: 'http://evil.test' })).toBe(403)
    expect(await status({ origin, 'sec-fetch-site': 'same-origin' })).toBe(200)
    const posted = await send(`${routes}/drop`, { ...cookie, 'content-type': 'text/plain' }, { key: 'x' })
    expect(posted.status).toBe(415)
  })

  it('changes nothing unless it is allowed to', async () => {
    const scene = await fill()
    const key = '7:default4:acme8:evt_dead'
    const { routes, cookie, actions } = await serve(scene.inbox)
    for (const action of ['replay', 'drop']) {
      const { status, json } = await send(`${routes}/${action}`, cookie, { key })
      expect([status, json.message]).toEqual([403, 'this page is read-only; start it with --write to replay and drop'])
    }
    expect((await scene.inbox.counts()).dead).toBe(1)
    const other = await serve(scene.inbox, true)
    expect((await send(`${other.routes}/replay`, {}, { key })).status).toBe(401)
    expect((await send(`${other.routes}/replay`, other.cookie, { key: 'no such key' })).json).toEqual({ isDone: false })
    expect((await send(`${other.routes}/drop`, other.cookie, { key })).json).toEqual({ isDone: true })
    expect((await scene.inbox.counts()).dead).toBe(0)
    expect([actions, other.actions]).toEqual([[], [`drop ${key}`]])
  })

  it('sends a body only if one is requested', async () => {
    const { routes, cookie } = await serve((await fill()).inbox)
    const key = encodeURIComponent('7:default4:acme8:evt_dead')
    const [list, item, body] = await Promise.all(
      ['rows', `item?key=${key}`, `body?key=${key}`].map((path) => send(`${routes}/${path}`, cookie)),
    )
    expect(list?.text).not.toContain('zoe@example.test')
    expect(item?.text).not.toContain('zoe@example.test')
    expect(item?.json).toMatchObject({ marks: [], tries: [{ n: 1, code: 'dead_letter' }], row: { account: 'acme' } })
    expect(body?.text).toContain('zoe@example.test')
    expect(body?.headers['cache-control']).toBe('no-store')
  })

  it('distinguishes a wrong query from its own fault', async () => {
    const { routes, cookie, faults } = await serve((await fill()).inbox)
    const ask = async (path: string) => {
      const { status, json } = await send(`${routes}/${path}`, cookie)
      return `${status} ${json.message}`
    }
    expect(await ask('item?key=nothing')).toBe('404 the inbox has no such event: it was handled or dropped')
    expect(await ask('elsewhere')).toBe('404 there is nothing at this address')
    expect(faults).toEqual([])
  })
})

it.each([
  ['an error of the package', new PosternError('inbox_unavailable', 'it is full'), 'it is full'],
  ['a text', 'gone', 'gone'],
])('the page says that the inbox cannot be read if its engine rejects with %s', async (_, reason, text) => {
  const { routes, cookie } = await serve({ ...new Scene().inbox, counts: () => Promise.reject(reason) })
  const { json } = await send(`${routes}/counts`, cookie)
  expect(json).toMatchObject({ statusCode: 503, message: `the inbox cannot be read: ${text}` })
})

it('the page reports its own fault to its owner alone', async () => {
  const fault = new TypeError('a secret')
  const counts = () => {
    throw fault
  }
  const { routes, cookie, faults } = await serve({ ...new Scene().inbox, counts })
  const { status, json } = await send(`${routes}/counts`, cookie)
  expect([status, json.message]).toEqual([500, expect.stringMatching(/failed.*terminal/)])
  expect(faults).toEqual([fault])
})

it('the page listens on loopback only, until it is ended', async () => {
  const server = await serveInbox(new Scene().inbox, { port: 0, isWritable: false, onAction() {}, onFault() {} })
  const { port } = new URL(server.url)
  expect((await fetch(server.url, { redirect: 'manual' })).status).toBe(303)
  // Linux takes all of 127.0.0.0/8 for a server that listens everywhere.
  await expect(fetch(`http://127.0.0.2:${port}/_inspector`, { signal: AbortSignal.timeout(1_000) })).rejects.toThrow()
  await server[Symbol.asyncDispose]()
  await expect(fetch(server.url)).rejects.toThrow()
})

describe('an event in the inbox', () => {
  const read = async (inbox: InboxView, path: string) => {
    const { routes, cookie } = await serve(inbox)
    return (await send(`${routes}/${path}`, cookie)).json
  }

  it('has no last try until it was tried, and then its code and its error', async () => {
    const scene = new Scene()
    scene.receiver.on('*', () => {})
    await scene.deliver(events.contact.created({}, { id: 'evt_waiting' }))
    const waiting = { event: 'evt_waiting', account: 'acme', type: 'contact.created', last: null }
    const standing = { state: 'waiting', failures: 0, tried: 0, reason: null }
    expect(await read(scene.inbox, 'rows')).toMatchObject({ rows: [{ ...waiting, inbox: standing }], isWhole: true })
    const reason = { text: 'DeadLetter: no such customer', handlers: ['contact.created'] }
    const dead = { event: 'evt_dead', last: { result: 'dead_letter' }, inbox: { state: 'dead', reason } }
    expect(await read((await fill()).inbox, 'rows')).toMatchObject({ rows: [dead] })
  })

  it('says of a busy event that no worker of its receiver may run, since only one of another name sees it', async () => {
    const scene = new Scene()
    scene.receiver.on('*', () => {})
    await scene.deliver(events.contact.created({}, { id: 'evt_1' }))
    new Scene({ name: 'another' }, scene.path).work()
    const tries = async () => (await scene.inbox.list('waiting')).entries[0]?.tries.length
    await until('it was tried', async () => (await tries()) === 1)
    const advice = 'busy: another process is handling this event, or no worker of its receiver runs'
    expect(await read(scene.inbox, 'rows')).toMatchObject({ rows: [{ advice, inbox: { state: 'waiting', tried: 1 } }] })
  })

  it('asks for a worker if it is due for some seconds and nothing runs, and behind no other event of its lane', async () => {
    const scene = new Scene()
    scene.receiver.on('*', () => {})
    for (const id of ['evt_0', 'evt_1', 'evt_2', 'evt_3'])
      await scene.deliver(events.contact.created({}, { id, accountKey: 'acme' }))
    const { entries } = await scene.inbox.list('waiting')
    const late = { dueAt: Date.now() - 10_000 }
    const failed = { n: 1, startedAt: 0, endedAt: 0, dueAt: 0, code: 'handler_failed', error: 'away', worker: 'w' }
    const changes = [{}, { ...late, lane: 'a' }, { ...late, lane: 'a' }, { ...late, failures: 1, tries: [failed] }]
    const waiting = entries.map((entry, n) => ({ ...entry, receivedAt: n, ...changes[n] }))
    let running: readonly object[] = []
    const list = async (state: string) => ({ entries: Object({ waiting, running })[state] ?? [], next: undefined })
    const readAll = async () => {
      const { rows } = await read({ ...scene.inbox, list }, 'rows')
      return (rows as InboxRows['rows'])?.map(({ inbox, advice }) => [inbox?.isOverdue, advice]).toReversed()
    }
    const none = [false, null]
    const overdue = [true, expect.stringMatching(/no worker has taken it\. Is a worker running\? receiver\.work\(\)/)]
    expect(await readAll()).toEqual([none, overdue, none, overdue])
    running = [{ ...entries[0], key: 'another', state: 'running', receivedAt: 9 }]
    expect(await readAll()).toEqual([none, none, none, none, none])
  })

  it('has the last of several tries, its source and its trace, if there are any', async () => {
    const { inbox } = await fill()
    const key = '7:default4:acme8:evt_dead'
    const entry = await inbox.get(key)
    if (entry === undefined) throw new Error('it is dead')
    const path = `item?key=${key}`
    expect(await read(inbox, path)).toMatchObject({ source: null, trace: null })
    const toTries = (times: object) => [
      { ...times, worker: 'w', n: 1, code: 'handler_failed', error: 'not yet' },
      { ...times, worker: 'w', n: 2, code: 'busy' },
    ]
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const tries = toTries({ dueAt: 0, startedAt: 0, endedAt: Infinity }) as InboxTry[] // of these times
    const get = async () => ({ ...entry, tries, source: 'shop', trace: { traceparent } })
    expect(await read({ ...inbox, get }, path)).toMatchObject({
      row: { last: { result: 'busy' }, inbox: { tried: 2, reason: { text: 'not yet' } } },
      source: 'shop',
      trace: traceparent,
      tries: toTries({ startedAt: '1970-01-01T00:00:00.000Z', endedAt: null }),
    })
  })
})

describe('the inbox of a receiver at the emulator', () => {
  /** An emulator with a receiver that accepts everything into the inbox, and its deliveries as the page lists them. */
  async function join(inbox: InboxView, options: object = {}) {
    const crm = await start({ inbox })
    const receiver = await serveReceiver((_request, response) => response.end('{"code":"accepted"}'))
    crm.webhooks.create({ url: receiver.url, events: ['contact.created'], ...options })
    const list = async () => Object((await call(crm, 'GET /_emulator/rows')).json).rows
    const emit = async (id: string) => {
      crm.events.emit({ type: 'contact.created', id })
      await until('it is delivered', () => crm.deliveries.list().every(({ status }) => status === 'success'))
    }
    return { crm, list, emit }
  }

  it('finds the outcome of a delivery from the first list on, whatever the name of the receiver', async () => {
    const scene = await fill('evt_named', 'billing')
    const { crm, list, emit } = await join(scene.inbox)
    await emit('evt_named')
    await emit('evt_handled')
    const key = '7:billing4:acme9:evt_named'
    const reason = { text: 'DeadLetter: no such customer', handlers: ['contact.created'] }
    const [handled, dead] = await list()
    expect(dead.inbox).toMatchObject({ state: 'dead', key, tried: 1, reason })
    expect(handled.inbox).toMatchObject({ state: 'gone', reason: null })
    const cursor = pick((await call(crm, 'GET /_emulator/rows')).json, 'cursor')
    expect((await call(crm, 'POST /_inspector/inbox/drop', { body: { key } })).json).toEqual({ isDone: true })
    const { json } = await call(crm, `GET /_emulator/changes?after=${cursor}`)
    expect(json).toMatchObject({ rows: [{ id: dead.id, inbox: { state: 'dropped', reason: null } }] })
    expect((await list())[1].inbox.state).toBe('dropped')
  })

  it('keeps what is known of an inbox that cannot be read, and does not wait for one that hangs', async () => {
    const scene = await fill('evt_dead')
    let list: InboxView['list'] = (...given) => scene.inbox.list(...given)
    const { list: read, emit } = await join({ ...scene.inbox, list: (...given) => list(...given) })
    await emit('evt_dead')
    expect((await read())[0].inbox.state).toBe('dead')
    list = () => Promise.reject(new Error('away'))
    await new Promise((resolve) => setTimeout(resolve, 1_100)) // the next read
    expect((await read())[0].inbox.state).toBe('dead')
    const other = await join({ ...scene.inbox, list: () => new Promise(() => {}) })
    await other.emit('evt_dead')
    expect((await other.list())[0]).toMatchObject({ inbox: null, last: { code: 'accepted' } })
  })

  it('takes no event for handled that moved between two lists while they were read', async () => {
    const scene = await fill('evt_moved')
    const list: InboxView['list'] = async () => ({ entries: [], next: undefined })
    const { list: read, emit } = await join({ ...scene.inbox, list })
    await emit('evt_moved')
    expect((await read())[0].inbox).toBeNull()
  })

  it('lists the events of all states, the newest first, and again only once they have changed', async () => {
    const { inbox } = await fill()
    const { entries } = await inbox.list('dead', { limit: 1 })
    const [dead, moved, waiting] = [2_000, 3_000, 1_000].map((at, n) => ({
      ...entries[0],
      ...{ key: `key ${n}`, id: `evt_${n}`, dueAt: at, receivedAt: at, tries: [] },
    })) as unknown as ListedEntry[] // entries of a list, changed in part
    const states = { dead: [dead, moved], waiting: [moved, waiting].map((each) => ({ ...each, state: 'waiting' })) }
    const list = async (state: string) => ({ entries: Object(states)[state] ?? [], next: undefined })
    const crm = await start({ inbox: { ...inbox, list } })
    const ask = async (known = '') => {
      const { json } = await call(crm, `GET /_inspector/inbox/rows?known=${known}`)
      return json as InboxRows // as the page answers
    }
    const first = await ask()
    expect(first.rows?.map((row) => `${row.event} ${row.inbox?.state}`)).toEqual([
      'evt_1 dead',
      'evt_0 dead',
      'evt_2 waiting',
    ])
    expect(await ask(first.tag)).toEqual({ tag: first.tag, isWhole: true })
    states.waiting = []
    await until('the list is read again', async () => (await ask(first.tag)).rows?.length === 2)
  })

  it('is not there unless one was given, and is no page for other origins', async () => {
    const without = await start()
    expect((await call(without, 'GET /_inspector/inbox/counts')).status).toBe(404)
    expect((await call(without, 'GET /_emulator/state')).json).toMatchObject({ hasInbox: false })
    const crm = await start({ inbox: (await fill()).inbox })
    const foreign = { headers: { origin: 'http://evil.test' } }
    const answer = await call(crm, 'GET /_inspector/inbox/counts', foreign)
    expect([answer.status, pick(answer.json, 'message')]).toEqual([
      403,
      'requests of pages at http://evil.test are refused',
    ])
  })
})

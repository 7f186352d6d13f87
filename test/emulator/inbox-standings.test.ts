import { DeadLetter, RetryLater } from 'postern'
import type { EmulatorOptions } from 'postern/emulator'
import { nodeHandler } from 'postern/node'
import { events } from 'postern/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Scene, until } from '../inbox/scene.ts'
import { call, makeDatabase, pick, quiet, serve, start } from './support.ts'

describe('the place of an accepted event in the inbox', () => {
  const keyOf = (id: string) => `7:default4:acme${id.length}:${id}`

  /** An inbox whose handler fails as `fail` says, and an emulator that knows it. */
  async function begin(ids: readonly string[], fail: () => void, options: EmulatorOptions = {}) {
    const scene = new Scene()
    scene.receiver.on('contact.created', fail)
    for (const id of ids) await scene.deliver(events.contact.created({}, { id }))
    scene.work()
    await until('each was tried', async () => {
      const entries = await Promise.all(ids.map((id) => scene.inbox.get(keyOf(id))))
      return entries.every((entry) => entry?.tries.length === 1)
    })
    const crm = await start({ inbox: scene.inbox, ...options })
    const register = async (...types: readonly string[]) => {
      const { url } = await serve((_request, response) => response.end('{"code":"accepted"}'))
      return crm.webhooks.create({ url, events: types }).id
    }
    /** Registers a receiver that names its inbox, as in development. */
    const registerNaming = async (type: string, place = scene.inbox.commandOptions, name = 'default') => {
      const body = JSON.stringify({ code: 'accepted', inbox: { name, place } })
      const { url } = await serve((_request, response) => response.end(body))
      return crm.webhooks.create({ url, events: [type] }).id
    }
    const emit = async (type: string, id: string) => {
      crm.events.emit({ type, id })
      await until('it is delivered', () => crm.deliveries.list().every(({ status }) => status === 'success'))
    }
    /** States of the events of a webhook, the oldest first. */
    const read = async (webhook: string) => {
      const rows: { webhook: string; inbox: { state: string; reason: object | null } | null }[] = Object(
        (await call(crm, 'GET /_emulator/rows')).json,
      ).rows
      return rows.flatMap((row) => (row.webhook === webhook ? [row.inbox?.state] : [])).toReversed()
    }
    const readAdvice = async () => pick((await call(crm, 'GET /_emulator/rows')).json, 'rows', 0, 'advice')
    return { scene, crm, register, registerNaming, emit, read, readAdvice }
  }

  const die = () => {
    throw new DeadLetter('no such customer')
  }

  it('is known of a receiver once an event was seen there that no other receiver has taken', async () => {
    const { register, emit, read } = await begin(['evt_both', 'evt_one'], die)
    const [ours, other] = [await register('contact.created', 'contact.updated'), await register('contact.created')]
    await emit('contact.created', 'evt_both')
    expect([await read(ours), await read(other)]).toEqual([[undefined], [undefined]])
    await emit('contact.updated', 'evt_one')
    await emit('contact.created', 'evt_handled')
    await expect.poll(() => read(ours), { timeout: 10_000 }).toEqual(['dead', 'dead', 'gone'])
    expect(await read(other)).toEqual([undefined, undefined])
  })

  it('is that of its own receiver, if receivers of several names share the inbox', async () => {
    const { scene, register, emit, read } = await begin(['evt_both', 'evt_one'], die)
    for (const id of ['evt_both', 'evt_two']) {
      const bytes = Buffer.from(JSON.stringify(events.contact.created({}, { id })))
      const more = { accountKey: 'acme', id, type: 'contact.created', receivedAt: Date.now() }
      await scene.inbox.put({ key: keyOf(id).replace('7:default', '5:other'), bytes, ...more })
    }
    const one = await register('contact.created', 'contact.updated')
    const other = await register('contact.created', 'contact.deleted')
    await emit('contact.created', 'evt_both')
    await emit('contact.updated', 'evt_one')
    await emit('contact.deleted', 'evt_two')
    await expect.poll(() => read(one), { timeout: 10_000 }).toEqual(['dead', 'dead'])
    await expect.poll(() => read(other), { timeout: 10_000 }).toEqual(['waiting', 'waiting'])
  })

  it('is unknown of a receiver that alone accepts events, as long as none was seen there', async () => {
    const { register, emit, read, readAdvice } = await begin([], die)
    const one = await register('contact.created')
    await emit('contact.created', 'evt_1')
    expect(await read(one)).toEqual([undefined])
    expect(await readAdvice()).toMatch(/^Accepted into an inbox, and not seen in the one shown here\..* POSTERN_DEV/)
  })

  it('is known of each receiver that names this inbox, however fast it is', async () => {
    const { registerNaming, emit, read } = await begin([], die)
    const [one, other] = [
      await registerNaming('contact.created'),
      await registerNaming('contact.updated', undefined, 'other'),
    ]
    await emit('contact.created', 'evt_1')
    await emit('contact.updated', 'evt_2')
    await expect.poll(() => read(one), { timeout: 10_000 }).toEqual(['gone'])
    await expect.poll(() => read(other), { timeout: 10_000 }).toEqual(['gone'])
  })

  it('is that which a real receiver names in development, also for its first event', async () => {
    vi.stubEnv('POSTERN_DEV', 'a-token-of-postern-dev')
    onTestFinished(() => void vi.unstubAllEnvs())
    let secret = 'unknown'
    const scene = new Scene({ secret: () => secret })
    scene.receiver.on('contact.created', () => {})
    scene.work()
    const { url } = await serve(nodeHandler(scene.receiver))
    const crm = await start({ inbox: scene.inbox, devToken: process.env.POSTERN_DEV })
    secret = crm.webhooks.create({ url, events: ['contact.created'] }).secret
    crm.events.emit({ type: 'contact.created' })
    const read = async () => pick((await call(crm, 'GET /_emulator/rows')).json, 'rows', 0, 'inbox', 'state')
    await expect.poll(read, { timeout: 10_000 }).toBe('gone')
  })

  it('is unknown of a receiver that names another inbox, and a warning names both', async () => {
    const warnings: string[] = []
    const logger = { ...quiet, warn: (_fields: unknown, text: string) => warnings.push(text) }
    const { scene, registerNaming, emit, read, readAdvice } = await begin([], die, { logger })
    const webhook = await registerNaming('contact.created', ['--sqlite', '/data/other.db', '--table', 'jobs'])
    await emit('contact.created', 'evt_1')
    await emit('contact.created', 'evt_2')
    expect(await read(webhook)).toEqual([undefined, undefined])
    expect(await readAdvice()).toBe(
      `Accepted into an inbox that is not shown here: start with --inbox sqlite:/data/other.db?table=jobs, and not sqlite:${scene.path}`,
    )
    await expect.poll(() => warnings).toEqual([expect.stringContaining('sqlite:/data/other.db?table=jobs')])
    expect(warnings[0]).toContain(scene.path)
  })

  it('is not taken for the end of an event if no inbox is shown', async () => {
    const { registerNaming, emit, read, readAdvice } = await begin([], die, { inbox: undefined })
    const webhook = await registerNaming('contact.created', ['--redis', 'redis://localhost:6379', '--queue', 'jobs'])
    await emit('contact.created', 'evt_1')
    expect(await read(webhook)).toEqual([undefined])
    expect(await readAdvice()).toBe(
      'Accepted into an inbox that is not shown here: start with --inbox redis://localhost:6379?queue=jobs',
    )
  })

  it('is kept without a page that asks for it', async () => {
    const { scene, crm, register, emit, read } = await begin(['evt_1'], die)
    const webhook = await register('contact.created')
    await emit('contact.created', 'evt_1')
    await until('it was seen', () => crm.deliveries.list().some((each) => Object(each).standing?.state === 'dead'))
    expect(await scene.inbox.drop(keyOf('evt_1'))).toBe(true)
    await expect.poll(() => read(webhook), { timeout: 10_000 }).toEqual(['left'])
  })

  it('is kept over a restart: what was not seen to be handled is not called so', async () => {
    const database = makeDatabase()
    const { scene, crm, registerNaming, emit, read } = await begin(['evt_dead'], die, { database })
    const webhook = await registerNaming('contact.created')
    await emit('contact.created', 'evt_handled')
    await emit('contact.created', 'evt_dead')
    await expect.poll(() => read(webhook), { timeout: 10_000 }).toEqual(['gone', 'dead'])
    await emit('contact.created', 'evt_unseen')
    await crm.close()
    await scene.inbox.drop(keyOf('evt_dead'))
    const readAgain = async (inbox: EmulatorOptions['inbox']) => {
      const again = await start({ inbox, database })
      const { rows } = Object((await call(again, 'GET /_emulator/rows')).json)
      await again.close()
      return rows.map((row: { inbox: object | null; advice: string }) => [pick(row.inbox, 'state'), row.advice])
    }
    expect(await readAgain(scene.inbox)).toEqual([
      ['left', 'It left the inbox while the emulator did not run: it was handled or dropped.'],
      ['left', 'It was dropped, or replayed elsewhere.'],
      ['gone', null],
    ])
    const unknown = ['undefined', expect.stringContaining('not shown here')]
    expect(await readAgain(undefined)).toEqual([unknown, unknown, unknown])
    expect(await readAgain(new Scene().inbox)).toEqual([unknown, unknown, unknown])
  })

  it('has the reason for which an event was put off', async () => {
    const { crm, register, emit } = await begin(['evt_1'], () => {
      throw new RetryLater(3_600_000)
    })
    await register('contact.created')
    await emit('contact.created', 'evt_1')
    const read = async () => Object((await call(crm, 'GET /_emulator/rows')).json).rows[0]
    await expect.poll(async () => (await read()).advice, { timeout: 10_000 }).toContain('RetryLater')
    expect((await read()).reason).toBeNull()
  })

  it('asks for a worker, without a change in the inbox, as soon as none has taken an event for some seconds', async () => {
    const scene = new Scene()
    scene.receiver.on('contact.created', () => {})
    await scene.deliver(events.contact.created({}, { id: 'evt_1' }))
    const crm = await start({ inbox: scene.inbox })
    const body = JSON.stringify({ code: 'accepted', inbox: { name: 'default', place: scene.inbox.commandOptions } })
    const { url } = await serve((_request, response) => response.end(body))
    crm.webhooks.create({ url, events: ['contact.created'] })
    crm.events.emit({ type: 'contact.created', id: 'evt_1' })
    const read = async () => Object((await call(crm, 'GET /_emulator/rows')).json).rows[0]
    await expect.poll(async () => (await read()).inbox?.state, { timeout: 10_000 }).toBe('waiting')
    expect((await read()).advice).toBeNull()
    const { now } = Date
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 10_000)
    await expect.poll(async () => (await read()).advice, { timeout: 10_000 }).toContain('Is a worker running?')
    expect((await read()).inbox).toMatchObject({ state: 'waiting', isOverdue: true, reason: null })
    scene.work()
    await expect.poll(async () => (await read()).inbox?.state, { timeout: 10_000 }).toBe('gone')
    expect(await read()).toMatchObject({ advice: null, inbox: { isOverdue: false } })
  })

  it.each([
    ['a dead letter', 'dead', die],
    [
      'one that was to be tried later',
      'waiting',
      () => {
        throw new RetryLater(3_600_000)
      },
    ],
  ])('is unknown for %s that was dropped elsewhere: it is not handled', async (_what, state, fail) => {
    const { scene, register, emit, read, readAdvice } = await begin(['evt_1'], fail)
    const webhook = await register('contact.created')
    await emit('contact.created', 'evt_1')
    await expect.poll(() => read(webhook), { timeout: 10_000 }).toEqual([state])
    expect(await scene.inbox.drop(keyOf('evt_1'))).toBe(true)
    await expect.poll(() => read(webhook), { timeout: 10_000 }).toEqual(['left'])
    expect(await readAdvice()).toBe('It was dropped, or replayed elsewhere.')
  })

  it('is gone, since it was handled, for a dead letter that the page replays', async () => {
    let isBroken = true
    const { crm, register, emit, read } = await begin(['evt_1'], () => {
      if (isBroken) die()
    })
    const webhook = await register('contact.created')
    await emit('contact.created', 'evt_1')
    await expect.poll(() => read(webhook), { timeout: 10_000 }).toEqual(['dead'])
    isBroken = false
    await call(crm, 'POST /_inspector/inbox/replay', { body: { key: keyOf('evt_1') } })
    await expect.poll(() => read(webhook), { timeout: 10_000 }).toEqual(['gone'])
  })
})

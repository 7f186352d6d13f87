import { DeadLetter, RetryLater } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Scene, until } from '../inbox/scene.ts'
import { call, serve, start } from './support.ts'

describe('the place of an accepted event in the inbox', () => {
  const keyOf = (id: string) => `7:default4:acme${id.length}:${id}`

  /** An inbox whose handler fails as `fail` says, and an emulator that knows it. */
  async function begin(ids: readonly string[], fail: () => void) {
    const scene = new Scene()
    scene.receiver.on('contact.created', fail)
    for (const id of ids) await scene.deliver(events.contact.created({}, { id }))
    scene.work()
    await until('each was tried', async () => {
      const entries = await Promise.all(ids.map((id) => scene.inbox.get(keyOf(id))))
      return entries.every((entry) => entry?.tries.length === 1)
    })
    const crm = await start({ inbox: scene.inbox })
    const register = async (...types: readonly string[]) => {
      const { url } = await serve((_request, response) => response.end('{"code":"accepted"}'))
      return crm.webhooks.create({ url, events: types }).id
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
    return { scene, crm, register, emit, read }
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

  it('is that of a receiver which alone accepts events, until another does', async () => {
    const { register, emit, read } = await begin([], die)
    const one = await register('contact.created')
    await emit('contact.created', 'evt_1')
    await expect.poll(() => read(one), { timeout: 10_000 }).toEqual(['gone'])
    await register('contact.updated')
    await emit('contact.updated', 'evt_2')
    await expect.poll(() => read(one), { timeout: 10_000 }).toEqual([undefined])
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
    const { scene, register, emit, read } = await begin(['evt_1'], fail)
    const webhook = await register('contact.created')
    await emit('contact.created', 'evt_1')
    await expect.poll(() => read(webhook), { timeout: 10_000 }).toEqual([state])
    expect(await scene.inbox.drop(keyOf('evt_1'))).toBe(true)
    await expect.poll(() => read(webhook), { timeout: 10_000 }).toEqual(['left'])
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

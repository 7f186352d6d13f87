import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver, sealedInbox } from 'postern'
import { events, silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { AT_ONCE, Scene, SECRET } from './scene.ts'

const FOR_MS = 120_000
const event = events.contact.created

/** Delivers events to a receiver with that handler. */
async function open(
  count: number,
  handler: (event: { readonly id: string }) => unknown = () => {},
  scene = new Scene(),
) {
  scene.receiver.on('*', handler)
  for (let n = 0; n < count; n++) await scene.deliver(event())
  return scene
}

describe('workOnce', () => {
  it('runs no more than max and tells how many are left, and then everything that is due', async () => {
    const ids: string[] = []
    const scene = await open(25, async ({ id }) => {
      ids.push(id)
      await sleep(5)
    })
    const work = (max?: number) => scene.receiver.workOnce({ forMs: FOR_MS, max })
    expect(await work(12)).toEqual({ handled: 12, failed: 0, left: 13 })
    expect(ids).toHaveLength(12)
    expect(await scene.inbox.counts()).toMatchObject({ waiting: 13, running: 0 })
    expect(await work()).toEqual({ handled: 13, failed: 0, left: 0 })
    expect(new Set(ids).size).toBe(25)
    expect(await work()).toEqual({ handled: 0, failed: 0, left: 0 })
  })

  it('counts failed tries, whose events wait for their delay, and dead letters', async () => {
    const scene = await open(2, () => {
      throw new Error('it failed')
    })
    const options = { forMs: FOR_MS, attempts: 2, delay: () => 0 }
    const bothFailed = { handled: 0, failed: 2, left: 0 }
    expect(await scene.receiver.workOnce({ ...options, delay: () => 60_000 })).toEqual(bothFailed)
    expect(await scene.inbox.counts()).toMatchObject({ waiting: 2, dead: 0 })
    await scene.deliver(event())
    expect(await scene.receiver.workOnce(options)).toEqual(bothFailed)
    expect(await scene.inbox.counts()).toMatchObject({ waiting: 2, dead: 1 })
  })

  it('counts no event as handled whose key was destroyed, and it is one of those up to max', async () => {
    const key = { id: '2026-11', bytes: randomBytes(32) }
    let isErased = false
    const { inbox } = new Scene()
    const scene = new Scene({
      inbox: sealedInbox(inbox, { keys: { current: () => key, find: () => (isErased ? 'erased' : key) } }),
    })
    await open(3, () => {}, scene)
    isErased = true
    expect(await scene.receiver.workOnce({ forMs: FOR_MS, max: 2 })).toEqual({ handled: 0, failed: 0, left: 1 })
    isErased = false
    expect(await scene.receiver.workOnce({ forMs: FOR_MS })).toEqual({ handled: 1, failed: 0, left: 0 })
  })

  it('is refused beside a worker, and a worker beside it', async () => {
    const scene = await open(1, () => sleep(100))
    const working = scene.receiver.workOnce({ forMs: FOR_MS })
    expect(() => scene.work()).toThrowError(/has a worker already/)
    await working
    await scene.work(AT_ONCE).close()
    const worker = scene.work()
    await expect(scene.receiver.workOnce({ forMs: FOR_MS })).rejects.toThrowError(/has a worker already/)
    await worker.close()
  })

  it.each([[{ forMs: 999 }], [{ forMs: 1_000, max: 0 }]])('refuses %j', async (options) => {
    const scene = await open(0)
    await expect(scene.receiver.workOnce(options)).rejects.toMatchObject({ code: 'option_invalid' })
  })

  it('needs an inbox', async () => {
    const receiver = createReceiver({ secret: SECRET, logger: silentLogger })
    await expect(receiver.workOnce({ forMs: 1_000 })).rejects.toMatchObject({ code: 'no_inbox' })
  })

  it('rejects if the inbox cannot be reached', async () => {
    const scene = await open(1)
    const inbox = { ...scene.inbox, counts: () => Promise.reject(new Error('away')) }
    const receiver = createReceiver({ secret: SECRET, logger: silentLogger, inbox, name: 'other' })
    await expect(receiver.workOnce({ forMs: 1_000 })).rejects.toMatchObject({ code: 'inbox_unavailable' })
  })
})

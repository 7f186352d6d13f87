import { createReceiver } from 'postern'
import { sqliteStore } from 'postern/sqlite'
import { events, silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Scene, SECRET, until } from './scene.ts'

const event = events.contact.created

/** An event of which one handler has finished, as the store knows, and another has failed once. */
async function half(scene: Scene): Promise<string> {
  scene.receiver.on('contact.created', { name: 'first' }, () => {})
  scene.receiver.on('contact.created', { name: 'second' }, () => {
    throw new Error('not yet')
  })
  await scene.deliver(event())
  const worker = scene.work({ delay: () => 300 })
  await until('it failed', async () => (await scene.inbox.list('waiting')).entries[0]?.failures === 1)
  await worker.close()
  await scene.receiver.close()
  return (await scene.inbox.list('waiting')).entries[0]?.key ?? ''
}

/** The next deployment. */
function workAgain(scene: Scene, register: (receiver: ReturnType<typeof createReceiver>) => void) {
  const store = sqliteStore({ database: scene.database })
  const receiver = createReceiver({ secret: SECRET, leaseMs: 2_000, inbox: scene.inbox, store, logger: silentLogger })
  register(receiver)
  return receiver.work({ attempts: 2, delay: () => 0 })
}

async function untilDead(scene: Scene) {
  await until('it is dead', async () => (await scene.inbox.counts()).dead === 1)
  const [entry] = (await scene.inbox.list('dead')).entries
  return entry
}

describe('a dead letter whose last try ran nothing keeps the marks of earlier tries', () => {
  it('if the worker has no handler for its type', async () => {
    const scene = new Scene()
    await half(scene)
    const worker = workAgain(scene, (receiver) => receiver.on('contact.deleted', () => {}))
    expect(await untilDead(scene)).toMatchObject({ marks: ['first'], tries: [{}, { code: 'no_handlers' }] })
    await worker.close()
  })

  it('if it has killed three processes, and its claim is still held at first', async () => {
    const scene = new Scene()
    const key = await half(scene)
    scene.database.prepare('UPDATE postern_inbox SET deaths = 3').run()
    const held = await sqliteStore({ database: scene.database }).claim(key, 2_000) // by a process that has died
    expect(held).toMatchObject({ marks: ['first'] })
    let runs = 0
    const worker = workAgain(scene, (receiver) => receiver.on('*', () => void runs++))
    const dead = await untilDead(scene)
    expect(dead).toMatchObject({ marks: ['first'], deaths: 3 })
    expect(dead?.tries.map(({ code }) => code)).toEqual(['handler_failed', 'busy', 'crashed'])
    expect(dead?.tries.at(-1)?.error).toBe('3 processes died while they ran it and nothing else')
    expect(runs).toBe(0)
    await worker.close()
  })
})

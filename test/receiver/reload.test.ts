import { createReceiver, memoryStore } from 'postern'
import { sqliteStore } from 'postern/sqlite'
import { events, signed, silentLogger } from 'postern/testing'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { AT_ONCE, Scene, until } from '../inbox/scene.ts'
import { expectRefusal, raise, SECRET } from './support.ts'

/** A receiver whose handlers record their runs, and whose warnings are kept. */
function setUp(options = {}) {
  const runs: string[] = []
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (_fields: unknown, message: string) => warnings.push(message) }
  const make = () => createReceiver({ secret: SECRET, logger, ...options })
  const note = (name: string) => () => void runs.push(name)
  return { runs, warnings, make, note }
}

beforeEach(() => {
  vi.stubEnv('NODE_ENV', 'development')
  return () => vi.unstubAllEnvs()
})

describe('a module with handlers that is loaded again', () => {
  it('replaces its handlers, with one warning for all of them', async () => {
    const { runs, warnings, make, note } = setUp()
    const receiver = make()
    const register = (version: string) =>
      receiver.on('contact.created', note(`created ${version}`)).on('*', { name: 'audit' }, note(`audit ${version}`))
    register('1')
    await receiver.dispatch(events.contact.created())
    register('2')
    await receiver.dispatch(events.contact.created())
    expect(runs).toEqual(['created 1', 'audit 1', 'created 2', 'audit 2'])
    expect(warnings).toEqual([expect.stringContaining('Handlers are registered after the first delivery')])
  })

  it('keeps the handlers of other modules', async () => {
    const { runs, make, note } = setUp()
    const receiver = make().on('*', { name: 'audit' }, note('audit')).on('contact.created', note('created 1'))
    await receiver.dispatch(events.contact.created())
    receiver.on('contact.created', note('created 2'))
    await receiver.dispatch(events.contact.created())
    expect(runs).toEqual(['audit', 'created 1', 'audit', 'created 2'])
  })

  it('reports two handlers that clash in the new code', async () => {
    const { make, note } = setUp()
    const receiver = make().on('contact.created', note('1'))
    await receiver.dispatch(events.contact.created())
    receiver.on('contact.created', note('2'))
    expectRefusal(() => receiver.on('contact.created', note('3')), 'handler_unnamed')
  })

  it('is loaded again after it was refused, with no delivery in between', async () => {
    const { runs, warnings, make, note } = setUp()
    const receiver = make()
    const load = (version: string, pattern: string) =>
      receiver.on('contact.created', note(`created ${version}`)).on(pattern as '*', note(`all ${version}`))
    expectRefusal(() => load('1', 'contact.craeted'), 'pattern_invalid')
    load('2', '*')
    await receiver.dispatch(events.contact.created())
    expectRefusal(() => load('3', 'contact.created'), 'handler_unnamed')
    expectRefusal(() => load('4', 'contact.created'), 'handler_unnamed')
    load('5', '*')
    await receiver.dispatch(events.contact.created())
    expect(runs).toEqual(['created 2', 'all 2', 'created 5', 'all 5'])
    expect(warnings).toHaveLength(4)
  })

  it('replaces its interceptors too', async () => {
    const { runs, make, note } = setUp()
    const receiver = make().on('contact.created', note('handler'))
    const intercept = (version: string) =>
      receiver.intercept((run) => {
        runs.push(`around ${version}`)
        return run()
      })
    intercept('1')
    await receiver.dispatch(events.contact.created())
    intercept('2')
    await receiver.dispatch(events.contact.created())
    expect(runs).toEqual(['around 1', 'handler', 'around 2', 'handler'])
  })

  it('skips a handler that had finished for an event before its module was loaded again', async () => {
    const { runs, make, note } = setUp()
    const event = events.contact.created()
    const receiver = make()
      .on('contact.created', note('created 1'))
      .on('*', { name: 'audit' }, raise(new Error('not yet')))
    expect((await receiver.dispatch(event)).outcome).toBe('failed')
    receiver.on('contact.created', note('created 2')).on('*', { name: 'audit' }, note('audit 2'))
    expect((await receiver.dispatch(event)).outcome).toBe('handled')
    expect(runs).toEqual(['created 1', 'audit 2'])
  })
})

describe('a module that makes a receiver, loaded again without that of its store', () => {
  it('makes one that replaces the older, with a warning, and remembers the events that it handled', async () => {
    const { runs, warnings, make, note } = setUp({ store: memoryStore() })
    const event = events.contact.created()
    const older = make().on('contact.created', note('older'))
    await older.dispatch(event)
    const newer = make().on('contact.created', note('newer'))
    expect(warnings).toEqual([expect.stringContaining('has replaced an older one')])
    expect((await newer.dispatch(event)).outcome).toBe('duplicate')
    expect((await newer.dispatch(events.contact.created())).outcome).toBe('handled')
    expect((await older.dispatch(events.contact.created())).outcome).toBe('handled') // a host may still hold it
    expect(runs).toEqual(['older', 'newer', 'older'])
  })

  it('takes over the worker of the older one, whose handlers are no longer those of the code', async () => {
    const scene = new Scene()
    const { runs, make, note } = setUp({
      store: sqliteStore({ database: scene.database }),
      inbox: scene.inbox,
    })
    const older = make().on('contact.created', note('older'))
    older.work(AT_ONCE)
    const newer = make().on('contact.created', note('newer'))
    const worker = newer.work(AT_ONCE)
    expect((await newer.receive(signed(events.contact.created(), { secret: SECRET }))).outcome).toBe('accepted')
    await until('the handler has run', () => runs.length > 0)
    expect(runs).toEqual(['newer'])
    await worker.close()
  })
})

describe.each(['production', 'test', ''])('with NODE_ENV %j', (environment) => {
  beforeEach(() => void vi.stubEnv('NODE_ENV', environment))

  it('refuses handlers after the first delivery', async () => {
    const { make, note } = setUp()
    const receiver = make().on('contact.created', note('1'))
    await receiver.dispatch(events.contact.created())
    expectRefusal(() => receiver.on('contact.created', note('2')), 'registration_frozen')
    expectRefusal(() => receiver.intercept((run) => run()), 'registration_frozen')
  })

  it('still refuses a second handler without a name after another one was refused', () => {
    const { make, note } = setUp()
    const receiver = make().on('contact.created', note('1'))
    for (let time = 0; time < 2; time++)
      expectRefusal(() => receiver.on('contact.created', note('2')), 'handler_unnamed')
  })

  it('refuses a second receiver of one name on one store', () => {
    const { make } = setUp({ store: memoryStore() })
    make()
    expectRefusal(make, 'store_shared')
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, type Settlement, systemClock, type TakenItem } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makePath, until } from './scene.ts'

const DONE: Settlement = { next: 'remove' }
const FOREVER = () => new Promise<Settlement>(() => {})

/** A clock whose timers never fire: the worker is suspended, as in a process that is frozen or dead. */
const frozen: Clock = { ...systemClock, setTimeout: () => undefined }
/** The clock of a machine that is busy. */
const late: Clock = { ...systemClock, setTimeout: (callback, ms) => systemClock.setTimeout(callback, ms * 1.01) }
/** A clock by which a worker searches for items all the time. */
const eager: Clock = { ...systemClock, setTimeout: (callback) => systemClock.setTimeout(callback, 1) }

/** node:sqlite throws if a connection is closed twice. */
function closeOnce(database: { close(): void }): void {
  try {
    database.close()
  } catch {
    // closed by the test
  }
}

/** An inbox in the view of one process. */
function open(path = makePath()) {
  const database = openSqlite(path)
  onTestFinished(() => closeOnce(database))
  const inbox = sqliteInbox({ database })
  const errors: unknown[] = []
  const settled: Settlement[] = []
  const work = (
    run: (item: TakenItem) => Promise<Settlement>,
    { clock = systemClock, leaseMs = 15_000 }: { readonly clock?: Clock; readonly leaseMs?: number } = {},
  ) => {
    const onError = (error: unknown) => void errors.push(error)
    const onSettled = (_: TakenItem, settlement: Settlement) => void settled.push(settlement)
    const loop = inbox.work(run, { concurrency: 5, leaseMs, clock, onError, onSettled })
    onTestFinished(() => void loop.close(0))
    return loop
  }
  const put = (key: string) =>
    inbox.put({ key, bytes: new Uint8Array(), accountKey: 'acme', id: key, type: 'a.created', receivedAt: Date.now() })
  const stateOf = async (key: string) => (await inbox.get(key))?.state
  return { path, database, inbox, errors, settled, work, put, stateOf }
}

/** Lets workers die that run an item: two beside others at first, each further one while it runs alone. */
async function killWorkers(path: string, key: string, deaths: number): Promise<void> {
  for (let n = 0; n < deaths; n++) {
    await takeAndFreeze(path, key, 50)
    await sleep(60)
  }
}

/** Lets a worker take an item and suspends it. */
async function takeAndFreeze(path: string, key: string, leaseMs: number, ending = FOREVER()) {
  let isTaken = false
  const run = (item: TakenItem) => {
    isTaken ||= item.key === key
    return ending
  }
  const process = open(path)
  process.work(run, { clock: frozen, leaseMs })
  await until('it is taken', () => isTaken)
  return process
}

describe('a worker that is closed', () => {
  it.each([10_000, 0])(
    'has ended its search for items by then, and returned those that it brought (%i ms)',
    async (timeoutMs) => {
      const { path, database, errors, put, work } = open()
      await put('one')
      const ran: string[] = []
      const loop = work(async ({ key }) => {
        ran.push(key)
        return DONE
      })
      expect(await loop.close(timeoutMs)).toBe(0)
      database.close()
      await sleep(50)
      expect([ran, errors]).toEqual([[], []])
      expect(await open(path).inbox.counts()).toMatchObject({ waiting: 1, running: 0 })
    },
  )

  it('waits for its runs as long as they take, if it has no limit', async () => {
    const { put, settled, work } = open()
    await put('one')
    let item: TakenItem | undefined
    const loop = work(async (taken) => {
      item = taken
      await sleep(100)
      return taken.signal.aborted ? { next: 'wait', afterMs: 0, isFailure: false } : DONE
    })
    await until('it runs', () => item !== undefined)
    expect([await loop.close(Number.POSITIVE_INFINITY), settled]).toEqual([0, [DONE]])
  })

  it('keeps the deaths of the items that it returns, and that they must be alone', async () => {
    const process = open()
    await process.put('killer')
    await killWorkers(process.path, 'killer', 4)
    const loop = process.work(async () => DONE)
    await loop.close(10_000)
    expect(await process.inbox.get('killer')).toMatchObject({ state: 'waiting', deaths: 2, failures: 0 })
    await process.put('innocent')
    const taken: string[] = []
    process.work(({ key }) => {
      taken.push(key)
      return FOREVER()
    })
    await sleep(400)
    expect(taken).toEqual(['killer'])
  })
})

describe('an item whose worker died', () => {
  it('runs again with the others after the first death', async () => {
    const { path, put, work, inbox } = open()
    await put('lost')
    await killWorkers(path, 'lost', 1)
    await put('other')
    const taken: TakenItem[] = []
    work((item) => {
      taken.push(item)
      return FOREVER()
    })
    await until('both run', () => taken.length === 2)
    expect(taken.map(({ key, isSuspect }) => [key, isSuspect]).sort()).toEqual([
      ['lost', false],
      ['other', false],
    ])
    expect(await inbox.get('lost')).toMatchObject({ deaths: 0 })
  })

  it('keeps its deaths while it could not run, waits for that beside others, and is alone again', async () => {
    const process = open()
    await process.put('killer')
    await killWorkers(process.path, 'killer', 4)
    const tried = { n: 1, dueAt: 0, startedAt: 0, endedAt: 0, code: 'busy', worker: 'w' }
    const busy: Settlement = { next: 'wait', afterMs: 500, isFailure: false, tried, isUnproven: true }
    const taken: string[] = []
    process.work(({ key }) => {
      taken.push(key)
      return key === 'killer' && taken.length > 1 ? FOREVER() : Promise.resolve(taken.length === 1 ? busy : DONE)
    })
    await until('it was tried', () => taken.length === 1)
    await process.put('beside')
    await until('the other one is done', async () => (await process.stateOf('beside')) === undefined)
    await until('it is tried again', () => taken.length === 3)
    await process.put('innocent')
    await sleep(400)
    expect(taken).toEqual(['killer', 'beside', 'killer'])
    expect(await process.inbox.get('killer')).toMatchObject({ deaths: 2 })
  })

  it('is no suspect after its handlers ran to their end', async () => {
    const { path, put, work, inbox } = open()
    await put('once')
    await killWorkers(path, 'once', 3)
    const tried = { n: 1, dueAt: 0, startedAt: 0, endedAt: 0, code: 'handler_failed', worker: 'w' }
    const taken: (boolean | undefined)[] = []
    work(({ isSuspect }) => {
      taken.push(isSuspect)
      return taken.length === 1 ? Promise.resolve({ next: 'wait', afterMs: 0, isFailure: true, tried }) : FOREVER()
    })
    await until('it ran twice', () => taken.length === 2)
    expect(taken).toEqual([true, false])
    expect(await inbox.get('once')).toMatchObject({ deaths: 0 })
  })

  it('is joined by others when it has run for longer than before, and then causes no counted death', async () => {
    const { path, put, work, inbox } = open()
    await put('long')
    await killWorkers(path, 'long', 2)
    const first = work(FOREVER, { leaseMs: 900 })
    const other = open(path)
    await put('beside')
    await until('both run', async () => (await inbox.counts()).running === 2)
    expect(await inbox.get('long')).toMatchObject({ deaths: 0 })
    expect(await other.stateOf('beside')).toBe('running')
    void first
  })

  it('keeps one of two busy workers waiting, and the other not at all', async () => {
    const { path, put, work } = open()
    await put('suspect')
    await killWorkers(path, 'suspect', 2)
    await put('slow')
    await put('slow too')
    const others = Array.from({ length: 20 }, (_, n) => `other ${n}`)
    const ran: (readonly [process: number, key: string])[] = []
    const runAs = (process: number) => (item: TakenItem) => {
      ran.push([process, item.key])
      return item.key.startsWith('slow') ? sleep(900).then(() => DONE) : Promise.resolve(DONE)
    }
    work(runAs(1))
    open(path).work(runAs(2))
    for (const key of others) {
      await put(key)
      await sleep(20)
    }
    await until('all ran', () => ran.length === 23)
    expect(ran.map(([, key]) => key).sort()).toEqual(['slow', 'slow too', 'suspect', ...others].sort())
  })
})

describe('a lease', () => {
  const tried = { n: 1, dueAt: 0, startedAt: 0, endedAt: 0, code: 'late', worker: 'late' }
  it.each<Settlement>([
    DONE,
    { next: 'wait', afterMs: 0, isFailure: true, tried },
    { next: 'wait', afterMs: 0, isFailure: false },
    { next: 'bury', marks: ['late'], tried },
  ])('that has ended does not let its worker change anything any more (%j)', async (settlement) => {
    const process = open()
    await process.put('one')
    let settle = (_: Settlement) => {}
    const ending = new Promise<Settlement>((resolve) => {
      settle = resolve
    })
    const late = await takeAndFreeze(process.path, 'one', 50, ending)
    await sleep(60)
    let runs = 0
    const run = () => {
      runs++
      return FOREVER()
    }
    process.work(run)
    await until('another worker runs it', () => runs === 1)
    settle(settlement)
    await sleep(200)
    expect([runs, late.settled, await process.inbox.get('one')]).toEqual([
      1,
      [],
      expect.objectContaining({ state: 'running', failures: 0, marks: [], tries: [] }),
    ])
  })

  it('that has ended while the process was suspended is still held by its worker', async () => {
    const { settled, put, work, stateOf } = open()
    await put('one')
    const leaseMs = 60
    const unrenewed: Clock = {
      ...systemClock,
      setTimeout: (callback, ms) => (ms === leaseMs / 3 ? undefined : systemClock.setTimeout(callback, 1)),
    }
    let runs = 0
    const run = async (): Promise<Settlement> => {
      runs++
      await sleep(200)
      return { next: 'bury', marks: [], tried }
    }
    work(run, { clock: unrenewed, leaseMs })
    await until('it is dead', async () => (await stateOf('one')) === 'dead')
    await sleep(100)
    expect([runs, settled.length]).toEqual([1, 1])
  })

  it('outlives a lock of the file that is a little shorter', async () => {
    const process = open()
    const other = open(process.path)
    await process.put('slow')
    let runs = 0
    process.work(
      () => {
        runs++
        return FOREVER()
      },
      { clock: late, leaseMs: 9_000 },
    )
    await until('it runs', () => runs === 1)
    // A renewal at 3 s gives up at 5.5 s, the next at 8.5 s; and at 9 s the lease ends.
    await sleep(2_800)
    other.database.exec('BEGIN IMMEDIATE')
    await sleep(5_900)
    other.database.exec('COMMIT')
    await sleep(50)
    other.work(
      () => {
        runs++
        return FOREVER()
      },
      { clock: eager },
    )
    await sleep(1_000)
    expect([runs, await other.stateOf('slow')]).toEqual([1, 'running'])
  })
})

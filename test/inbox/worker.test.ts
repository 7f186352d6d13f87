import { DeadLetter, HandlerError, type Inbox, type InboxItem, type Outcome, type PosternError } from 'postern'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import type { InboxWorkOptions, TakenItem } from '../../src/engine.ts'
import type { Settlement } from '../../src/inbox/inbox.ts'
import { checkRetries } from '../../src/inbox/retries.ts'
import type { Tried } from '../../src/inbox/settle.ts'
import type { TryLine } from '../../src/inbox/try-line.ts'
import { Worker } from '../../src/inbox/worker.ts'

const EVENT = { id: 'evt_1', type: 'contact.created', accountKey: 'acme' }
const HANDLED: Tried = { outcome: { ...EVENT, outcome: 'handled', status: 200 }, marks: [] }
const BUSY: Tried = { outcome: { ...EVENT, outcome: 'busy', status: 409 }, marks: [] }

function makeItem(fields: Partial<TakenItem> = {}): TakenItem {
  const { signal } = new AbortController()
  const origin = { key: 'k 1', bytes: new Uint8Array(), ...EVENT, receivedAt: 0, since: 0, dueAt: 0, worker: 'w' }
  return { ...origin, state: 'running', failures: 0, deaths: 0, marks: [], tries: [], signal, ...fields }
}

/** A worker on an engine whose part the test plays. */
function open(
  parts: { readonly commandOptions?: readonly string[]; readonly recalled?: Tried; run?(): Promise<Tried> } = {},
) {
  let engine: InboxWorkOptions | undefined
  let runItem: ((item: TakenItem) => Promise<Settlement>) | undefined
  const closed: number[] = []
  const inbox = {
    work(run, options) {
      runItem = run
      engine = options
      return { close: async (timeoutMs) => closed.push(timeoutMs) }
    },
    ...(parts.commandOptions === undefined ? {} : { commandOptions: parts.commandOptions }),
  } satisfies Partial<Inbox> as unknown as Inbox // a worker calls no other method
  const clock = manualClock(0)
  const reported: PosternError[] = []
  const told: TryLine[] = []
  const dead: (readonly [InboxItem, PosternError])[] = []
  const settled: Settlement[] = []
  const ran: string[] = []
  const worker = new Worker({
    inbox,
    retries: checkRetries({ concurrency: 7 }, 7 * 86_400_000, 0),
    clock,
    leaseMs: 9_000,
    retentionMs: 7 * 86_400_000,
    run: async () => {
      ran.push('run')
      return parts.run === undefined ? HANDLED : parts.run()
    },
    recall: async () => {
      ran.push('recall')
      return parts.recalled ?? BUSY
    },
    report: (error) => void reported.push(error),
    tell: (line) => void told.push(line),
    onDeadLetter: (item, error) => void dead.push([item, error]),
    onSettled: (_, settlement) => void settled.push(settlement),
    onStalled: (item) => void ran.push(`stalled ${item.key}`),
  })
  if (engine === undefined || runItem === undefined) throw new Error('it works')
  return { worker, engine, runItem, clock, reported, told, dead, settled, ran, closed }
}

const bury = (n: number): Settlement => ({
  next: 'bury',
  marks: [],
  tried: { n, dueAt: 0, startedAt: 0, endedAt: 0, code: 'handler_failed', error: 'a secret', worker: 'w' },
})

describe('a worker', () => {
  it('passes its settings to the engine', () => {
    const { engine, clock } = open()
    expect(engine).toMatchObject({ concurrency: 7, leaseMs: 9_000, clock })
  })

  it('is told of stalled items, and closes the engine', async () => {
    const { worker, engine, ran, closed, told } = open()
    engine.onStalled?.(makeItem())
    expect(ran).toEqual(['stalled k 1'])
    expect(told).toMatchObject([
      { level: 'warn', message: expect.stringContaining('"evt_1" was taken by another worker') },
    ])
    expect([await worker.close(50), closed]).toEqual([1, [50]])
  })

  it('runs an item, and records when the try began and ended', async () => {
    const { clock, runItem } = open({
      run: async () => {
        await clock.advance(500)
        return BUSY
      },
    })
    await clock.advance(1_000)
    expect(await runItem(makeItem())).toMatchObject({
      next: 'wait',
      afterMs: 9_000,
      tried: { startedAt: 1_000, endedAt: 1_500 },
    })
  })

  it.each([
    [2, 'run'],
    [3, 'recall'],
    [4, 'recall'],
  ])('of an item that %i processes died of does %s', async (deaths, what) => {
    const { ran, runItem } = open()
    await runItem(makeItem({ deaths }))
    expect(ran).toEqual([what])
  })

  it.each<Settlement>([{ next: 'remove' }, { next: 'wait', afterMs: 0, isFailure: false }])(
    'reports nothing about an item that is settled as usual ($next)',
    (settlement) => {
      const { engine, settled, reported, told, dead } = open()
      engine.onSettled(makeItem(), settlement)
      expect([settled, reported, told, dead]).toEqual([[settlement], [], [], []])
    },
  )
})

describe('the report of a dead letter', () => {
  it('has the commands for it, quoted for a shell, and not the text of its error', () => {
    const { engine, settled, told, dead } = open({ commandOptions: ['--sqlite', 'app.db'] })
    const item = makeItem()
    engine.onSettled(item, bury(3))
    const message =
      '"contact.created" "evt_1" is a dead letter after 3 tries (handler_failed). To look at it: npx postern inbox show "k 1" --sqlite app.db. To try again: npx postern inbox replay "k 1" --sqlite app.db.'
    expect(told).toMatchObject([{ level: 'error', fields: { code: 'dead_letter', ...EVENT } }])
    expect(told[0]?.message.replaceAll("'", '"')).toBe(message)
    expect(dead).toEqual([[item, told[0]?.deadLetter]])
    expect(settled).toEqual([bury(3)])
  })

  it('has what the handlers threw in the last try as its cause', async () => {
    const cause = new DeadLetter('the customer does not exist')
    for (const thrown of [cause, new Error('not yet')]) {
      const about = { handlers: [], eventId: 'evt_1', eventType: 'contact.created', accountKey: 'acme' }
      const error = new HandlerError('handler_failed', 'failed', about, { cause: thrown })
      const outcome: Outcome = { ...EVENT, outcome: 'failed', status: 500, code: 'handler_failed', error }
      const { engine, runItem, told, dead } = open({ run: async () => ({ outcome, marks: [] }) })
      const item = makeItem({ failures: 9 })
      engine.onSettled(item, await runItem(item))
      expect(dead[0]?.[1].cause).toBe(thrown)
      expect(told.map(({ deadLetter }) => deadLetter)).toEqual([dead[0]?.[1]])
    }
  })

  it('says that processes died of it', async () => {
    const { engine, runItem, told } = open({
      recalled: { outcome: { ...EVENT, outcome: 'ignored', status: 200 }, marks: [] },
    })
    const item = makeItem({ deaths: 3 })
    engine.onSettled(item, await runItem(item))
    expect(told[0]?.message).toMatch(
      /\(crashed\)\. 3 processes died while they ran it and nothing else\. To look at it: npx /,
    )
  })

  it('counts one try, and has no options if the engine needs none', () => {
    const { engine, told } = open()
    engine.onSettled(makeItem({ key: 'k' }), bury(1))
    expect(told[0]?.message).toMatch(/after 1 try \(handler_failed\)\. .*inbox show k\. .*inbox replay k\.$/)
  })
})

it('a worker reports an engine that fails once a minute, with its error', async () => {
  const { engine, clock, reported } = open()
  const error = new Error('away')
  const counts: number[] = []
  for (const ms of [0, 59_999, 1, 59_999, 1]) {
    await clock.advance(ms)
    engine.onError(error)
    counts.push(reported.length)
  }
  expect(counts).toEqual([1, 1, 2, 2, 3])
  expect(reported[0]).toMatchObject({ code: 'inbox_unavailable', cause: error })
})

import { DeadLetter, type InboxTry, type Outcome, PosternError, RetryLater } from 'postern'
import { describe, expect, it } from 'vitest'
import type { TakenItem } from '../../src/engine.ts'
import { checkRetries } from '../../src/inbox/retries.ts'
import { toSettlement } from '../../src/inbox/settle.ts'
import { HandlerError } from '../../src/protocol/errors.ts'

const DAY = 86_400_000
const EVENT = { id: 'evt_1', type: 'contact.created', accountKey: 'acme' }
const LEASE_MS = 15_000

function makeItem(fields: Partial<TakenItem> = {}): TakenItem {
  const { signal } = new AbortController()
  const origin = { key: 'k', bytes: new Uint8Array(), ...EVENT, receivedAt: 0, since: 0, dueAt: 100, worker: 'w' }
  return { ...origin, state: 'running', failures: 0, deaths: 0, marks: [], tries: [], signal, ...fields }
}

const makeTry = (n: number): InboxTry => ({ n, dueAt: 0, startedAt: 0, endedAt: 0, code: 'busy', worker: 'w' })

/** Outcome of an event whose handlers threw these values. */
function thrown(...values: readonly unknown[]): Outcome {
  const cause = values.length === 1 ? values[0] : new AggregateError(values)
  const about = { handlers: [], eventId: 'evt_1', eventType: 'contact.created', accountKey: 'acme' }
  const error = new HandlerError('handler_failed', 'The handlers failed.', about, { cause })
  return { ...EVENT, outcome: 'failed', status: 500, code: 'handler_failed', error }
}

function failed(code: 'store_unavailable' | 'lease_lost' | 'schema_failed', cause?: unknown): Outcome {
  return { ...EVENT, outcome: 'failed', status: 503, code, error: new PosternError(code, 'It failed.', { cause }) }
}

/** Settles a try that ran from 200 to 300. */
function settleAt300(outcome: Outcome, item = makeItem(), attempts = 3) {
  const retries = checkRetries({ attempts, delay: (failures) => failures * 1_000 }, 7 * DAY, 0)
  const rules = { retries, leaseMs: LEASE_MS, retentionMs: 7 * DAY }
  return toSettlement(item, { outcome, marks: ['first'] }, 200, 300, rules)
}

const BUSY: Outcome = { ...EVENT, outcome: 'busy', status: 409 }
const CLOSING: Outcome = { ...EVENT, outcome: 'closing', status: 503 }
const HANDLED: Outcome = { ...EVENT, outcome: 'handled', status: 200 }

describe('an item leaves the inbox', () => {
  it.each<Outcome>([HANDLED, { ...EVENT, outcome: 'duplicate', status: 200 }])(
    'if its event is done ($outcome), no matter how it got there',
    (outcome) => {
      const item = makeItem({ failures: 9, deaths: 3, signal: AbortSignal.abort() })
      expect(settleAt300(outcome, item)).toEqual({ next: 'remove' })
    },
  )
})

describe('a try that says nothing about the handlers does not count, and the item still has to run alone', () => {
  it.each<[string, Outcome, number]>([
    ['of an event that another process handles', BUSY, LEASE_MS],
    ['of a worker that closes', CLOSING, 0],
    ['without a store', failed('store_unavailable'), 5_000],
    ['whose lease was lost', failed('lease_lost'), LEASE_MS],
  ])('%s', (_, outcome, afterMs) => {
    const item = makeItem({ failures: 2, deaths: 3 })
    expect(settleAt300(outcome, item)).toMatchObject({ next: 'wait', afterMs, isFailure: false, isUnproven: true })
  })

  it('that its worker aborted', () => {
    const settlement = settleAt300(thrown(new Error('aborted')), makeItem({ signal: AbortSignal.abort() }))
    expect(settlement).toMatchObject({ next: 'wait', afterMs: 0, isFailure: false, isUnproven: true })
  })
})

describe('an event that fails', () => {
  it.each<Outcome>([
    thrown(new Error('not yet')),
    thrown(undefined),
    thrown(),
    failed('schema_failed'),
    failed('schema_failed', new DeadLetter('thrown by a schema')),
    { ...EVENT, outcome: 'ignored', status: 200 },
    { ...EVENT, outcome: 'rejected', status: 422, code: 'invalid_record', reason: 'No.', issues: [] },
    { outcome: 'error', status: 500, code: 'no_handlers', error: new PosternError('no_handlers', 'None.') },
  ])('waits longer after each failure, and is dead after the last ($outcome)', (outcome) => {
    const settlements = [0, 1, 2].map((failures) => settleAt300(outcome, makeItem({ failures })))
    expect(settlements).toMatchObject([
      { next: 'wait', afterMs: 1_000, isFailure: true },
      { next: 'wait', afterMs: 2_000, isFailure: true },
      { next: 'bury', marks: ['first'] },
    ])
    expect(settlements.some((settlement) => 'isUnproven' in settlement)).toBe(false)
  })

  it('is dead if three processes have died of it, whatever its handlers wish', () => {
    const dead = { next: 'bury', marks: ['first'], tried: { code: 'crashed' } }
    expect(settleAt300(thrown(new RetryLater(1)), makeItem({ deaths: 3 }))).toMatchObject(dead)
    expect(settleAt300(thrown(new RetryLater(1)), makeItem({ deaths: 2 }))).toMatchObject({ next: 'wait' })
  })

  it('is dead immediately if its handlers say so', () => {
    const dead = {
      next: 'bury',
      marks: ['first'],
      tried: { code: 'dead_letter', error: expect.stringContaining('no') },
    }
    expect(settleAt300(thrown(new DeadLetter('no')))).toMatchObject(dead)
    expect(settleAt300(thrown(new DeadLetter('no'), new DeadLetter('no')))).toMatchObject(dead)
  })

  it('waits for as long as its handlers say, at least 100 ms, and that is no failure', () => {
    const wait = (afterMs: number) => ({ next: 'wait', afterMs, isFailure: false, tried: expect.anything() })
    expect(settleAt300(thrown(new RetryLater(5_000)))).toEqual(wait(5_000))
    expect(settleAt300(thrown(new RetryLater(0)), makeItem({ failures: 2 }))).toEqual(wait(100))
  })

  it('expires only if it would wait for longer than its finish marks are kept', () => {
    const item = makeItem({ since: 300 })
    expect(settleAt300(thrown(new RetryLater(7 * DAY)), item)).toMatchObject({ next: 'wait', afterMs: 7 * DAY })
    const expired = { next: 'bury', marks: ['first'], tried: { code: 'expired' } }
    expect(settleAt300(thrown(new RetryLater(7 * DAY + 1)), item)).toMatchObject(expired)
  })
})

describe('the record of a try', () => {
  const recordOf = (outcome: Outcome, item = makeItem()) => {
    const settlement = settleAt300(outcome, item)
    return 'tried' in settlement ? settlement.tried : undefined
  }

  it('has its number, its times, its code, its error and its worker', () => {
    expect(recordOf(thrown(new TypeError('not yet')))).toEqual({
      n: 1,
      dueAt: 100,
      startedAt: 200,
      endedAt: 300,
      code: 'handler_failed',
      worker: 'w',
      error: 'The handlers failed. TypeError: not yet',
    })
    expect(recordOf(BUSY)).toEqual({ n: 1, dueAt: 100, startedAt: 200, endedAt: 300, code: 'busy', worker: 'w' })
  })

  it('counts on from the last try, even if earlier ones are no longer kept', () => {
    expect(recordOf(BUSY, makeItem({ tries: [makeTry(41), makeTry(42)] }))).toMatchObject({ n: 43 })
  })

  it.each<[string, Outcome, object]>([
    ['several handlers', thrown(new Error('a'), 'b'), { error: 'The handlers failed. Error: a "b"' }],
    ['nothing that a handler threw', thrown(undefined), { error: 'The handlers failed.' }],
    ['null that a handler threw', thrown(null), { error: 'The handlers failed. null' }],
    ['a value without a text', thrown(Object.create(null)), { error: 'The handlers failed. an object' }],
    ['no handler', { ...EVENT, outcome: 'ignored', status: 200 }, { code: 'no_handlers' }],
    [
      'no handler of the type',
      { ...EVENT, outcome: 'ignored', status: 200 },
      { error: 'no handler of this worker takes events of this type' },
    ],
    [
      'a refused record',
      {
        ...EVENT,
        outcome: 'rejected',
        status: 422,
        code: 'invalid_record',
        reason: 'The schema refuses it.',
        issues: [
          { path: 'email', message: 'is no address' },
          { path: 'name', message: 'is missing' },
        ],
      },
      { code: 'invalid_record', error: 'The schema refuses it. email: is no address name: is missing' },
    ],
  ])('tells of %s', (_, outcome, record) => {
    expect(recordOf(outcome)).toMatchObject(record)
  })

  it('keeps 1,000 characters of a long error', () => {
    expect(recordOf(thrown(new Error('x'.repeat(2_000))))?.error).toHaveLength(1_000)
  })

  it('tells how many processes died', () => {
    const error = '3 processes died while they ran it and nothing else'
    expect(recordOf(thrown(new Error('x')), makeItem({ deaths: 3 }))).toMatchObject({ code: 'crashed', error })
  })
})

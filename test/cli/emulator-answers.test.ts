import { describe, expect, it } from 'vitest'
import type * as z from 'zod'
import {
  attemptMessage,
  clock,
  emitted,
  faults,
  state,
  watchedDelivery,
} from '../../src/cli/service/emulator-answers.ts'

const TIME = '2025-01-01T00:00:00.000Z'
const ATTEMPT = { number: 1, at: TIME, durationMs: 2.5, responseBody: '', url: 'http://127.0.0.1:9/' }
const FULL_ATTEMPT = { ...ATTEMPT, status: 500, failure: 'status', phases: {} }
const DELIVERY = { id: 'd1', eventId: 'e1', eventType: 'x', status: 'pending', nextAttemptAt: TIME }
const DELIVERIES = { fail: 0, duplicate: 0, shuffle: false, latencyMs: [1, 2] }
const FAULTS = { answers: [{ answer: '429', count: 3, delayMs: 0 }], deliveries: DELIVERIES }
const WEBHOOK = { id: 'w1', url: 'http://127.0.0.1:9/', accountKey: 'acme', events: ['x'], active: true }
const CLOCK = { isManual: true, now: TIME, nextDueAt: TIME, inFlight: 0, moved: true }

type Path = readonly (string | number)[]

interface Right {
  readonly schema: z.ZodType
  readonly value: object
  readonly paths: readonly Path[]
  readonly optional: readonly Path[]
}

/** Right answers, with the paths of all values that are read, and of those that may be absent. */
const RIGHT: Readonly<Record<string, Right>> = {
  watchedDelivery: {
    schema: watchedDelivery,
    value: { ...DELIVERY, attempts: [FULL_ATTEMPT], accountKey: 'acme' },
    paths: [
      ...['id', 'eventId', 'eventType', 'status', 'nextAttemptAt', 'attempts'].map((name) => [name]),
      ...Object.keys(ATTEMPT).map((name) => ['attempts', 0, name]),
      ...['status', 'failure'].map((name) => ['attempts', 0, name]),
    ],
    optional: [['nextAttemptAt'], ['attempts', 0, 'status'], ['attempts', 0, 'failure']],
  },
  attemptMessage: {
    schema: attemptMessage,
    value: { type: 'attempt', delivery: DELIVERY, attempt: FULL_ATTEMPT },
    paths: [
      ...['type', 'delivery', 'attempt'].map((name) => [name]),
      ...Object.keys(DELIVERY).map((name) => ['delivery', name]),
      ...Object.keys(ATTEMPT).map((name) => ['attempt', name]),
    ],
    optional: [['delivery', 'nextAttemptAt']],
  },
  faults: {
    schema: faults,
    value: FAULTS,
    paths: [
      ...['answers', 'deliveries'].map((name) => [name]),
      ...['answer', 'count', 'delayMs'].map((name) => ['answers', 0, name]),
      ...Object.keys(DELIVERIES).map((name) => ['deliveries', name]),
      ['deliveries', 'latencyMs', 0],
      ['deliveries', 'latencyMs', 1],
    ],
    optional: [['deliveries', 'latencyMs']],
  },
  state: {
    schema: state,
    value: {
      settings: { retryScale: 1 },
      clock: { isManual: false },
      counts: { pending: 2 },
      faults: FAULTS,
      webhooks: [WEBHOOK],
    },
    paths: [
      ...['settings', 'clock', 'counts', 'faults', 'webhooks'].map((name) => [name]),
      ...[
        ['settings', 'retryScale'],
        ['clock', 'isManual'],
        ['counts', 'pending'],
        ['faults', 'answers'],
      ],
      ...Object.keys(WEBHOOK).map((name) => ['webhooks', 0, name]),
      ['webhooks', 0, 'events', 0],
    ],
    optional: [],
  },
  emitted: {
    schema: emitted,
    value: { events: [{ deliveries: ['d1'] }] },
    paths: [['events'], ['events', 0], ['events', 0, 'deliveries'], ['events', 0, 'deliveries', 0]],
    optional: [],
  },
  clock: {
    schema: clock,
    value: CLOCK,
    paths: Object.keys(CLOCK).map((name) => [name]),
    optional: [['moved']],
  },
}

const CASES = Object.entries(RIGHT).map(([name, { optional, ...rest }]) => ({
  ...{ name, ...rest, optional: optional.map((path) => path.join('.')) },
}))

/** Returns a copy with another value at the path. */
function put(value: object, path: Path, other: unknown): object {
  const copy = structuredClone(value)
  const [last = '', ...way] = path.toReversed()
  Object(way.toReversed().reduce<unknown>((inner, name) => Object(inner)[name], copy))[last] = other
  return copy
}

describe.each(CASES)('the answer $name', ({ schema, value, paths, optional }) => {
  it('is taken as it is, whatever else it holds', () => {
    const { success, data } = schema.safeParse({ ...value, more: 1 })
    expect([success, Object.keys(Object(data)).includes('more')]).toEqual([true, true])
  })

  it.each(paths.map((path) => [path.join('.'), path] as const))('is refused with another kind of %s', (name, path) => {
    expect(schema.safeParse(put(value, path, { of: 'another kind' })).success).toBe(false)
    expect(schema.safeParse(put(value, path, undefined)).success).toBe(optional.includes(name))
  })
})

describe('times', () => {
  it('are milliseconds, or undefined', () => {
    const parsed = watchedDelivery.parse({ ...DELIVERY, nextAttemptAt: null, attempts: [ATTEMPT] })
    expect([parsed.nextAttemptAt, parsed.attempts[0]?.at]).toEqual([undefined, Date.parse(TIME)])
    expect(watchedDelivery.parse({ ...DELIVERY, attempts: [] }).nextAttemptAt).toBe(Date.parse(TIME))
  })

  it.each(['soon', '', '2025-99-01'])('are no other text: %j', (at) => {
    expect(watchedDelivery.safeParse({ ...DELIVERY, attempts: [{ ...ATTEMPT, at }] }).success).toBe(false)
  })
})

import { describe, expect, it } from 'vitest'
import { CASES } from '../../src/check/cases.ts'
import { TYPES } from '../../src/check/work.ts'
import { judgeEffect, play, runIn, type Step, showVerdict } from './play.ts'

const FULL: Step = [503, '60']

describe('a check with a probe', () => {
  it('is skipped without one, and sends nothing', async () => {
    const { scene, seen } = await play([200])
    for (const { id } of CASES.filter(({ group }) => group === 'effect'))
      expect(await runIn(scene, id), id).toEqual({ status: 'skipped', answers: [], cause: 'no_probe' })
    expect(seen).toEqual([])
  })

  it.each<readonly [id: string, steps: readonly Step[], runs: readonly number[], verdict: string]>([
    ['effect-once', [200], [1], 'pass: first 200, then 200; the work was done once'],
    ['effect-once', [200], [0, 1], 'pass: first 200, then 200; the work was done once'],
    ['effect-once', [200], [2], 'fail: first 200, then 200; the work was done 2 times'],
    ['effect-once', [200], [1, 1, 2], 'fail: first 200, then 200; the work was done 2 times'],
    ['effect-once', [200], [0], 'fail: first 200, then 200; the work was done 0 times'],
    ['effect-once', [401], [1], 'skipped: the event was not accepted: 401'],
    ['effect-once', [200, [429, '60']], [1], 'skipped: the second delivery was not judged: 429, put off for 60 s'],
    ['effect-once', [200, FULL], [2], 'fail: first 200, then 503, put off for 60 s; the work was done 2 times'],
    ['effect-once', [200, 409], [1], 'pass: first 200, then 409; the work was done once'],
    ['effect-once-at-once', [200], [1], 'pass: 24 × 200; the work was done once'],
    ['effect-once-at-once', [200, 409], [1], 'pass: 1 × 200, 23 × 409; the work was done once'],
    ['effect-once-at-once', [200, 503], [1, 1, 0], 'pass: 1 × 200, 23 × 503; the work was done once'],
    ['effect-once-at-once', [200], [1, 1, 1, 1, 1, 3], 'fail: 24 × 200; the work was done 3 times'],
    ['effect-once-at-once', [401], [1], 'skipped: the event was not accepted: 24 × 401'],
    ['effect-types', [200], [1], `info: not counted: ${TYPES.slice(1).join(', ')}`],
    ['effect-once-other-bytes', [200], [1], 'pass: first 200, then 200; the work was done once'],
    ['effect-once-after-others', [200], [1], 'pass: first 200, then 200; the work was done once'],
    ['effect-none-refused', [401, 200], [0], 'pass: 401; the work was done 0 times'],
    ['effect-none-refused', [401, 200], [1], 'fail: 401; the work was done once'],
    ['effect-none-refused', [FULL], [0], 'skipped: the event was not accepted: 503, put off for 60 s'],
    ['effect-none-refused', [FULL], [2], 'fail: 503, put off for 60 s; the work was done 2 times'],
    ['effect-after-forgery', [401, 200], [1], 'pass: first 401, then 200; the work was done once'],
    ['effect-after-forgery', [401, 200], [0, 1], 'pass: first 401, then 200; the work was done once'],
    ['effect-after-forgery', [401, 200], [0], 'fail: first 401, then 200; the work was done 0 times'],
    ['effect-after-forgery', [401], [1], 'fail: first 401, then 401; the work was done 0 times'],
    ['effect-after-forgery', [401, [429, '60']], [0], 'skipped: the event was not accepted: 429, put off for 60 s'],
    ['effect-ack-after-work', [500], [0], 'pass: 500'],
    ['effect-ack-after-work', [200], [0, 1], 'pass: 200; the work was done once'],
    ['effect-ack-after-work', [200], [0], 'fail: 200; the work was done 0 times'],
    ['effect-ack-after-work', [401], [1], 'skipped: the event was not accepted: 401'],
    ['effect-ack-after-work', [429], [1], 'skipped: the event was not accepted: 429, put off for an unknown time'],
    ['effect-copies-of-failure', [500], [0], 'pass: 8 × 500'],
    ['effect-copies-of-failure', [401, 500], [0], 'pass: 1 × 401, 7 × 500'],
    ['effect-copies-of-failure', [500, 200], [0, 1], 'pass: 1 × 500, 7 × 200; the work was done once'],
    ['effect-copies-of-failure', [500, 200], [0], 'fail: 1 × 500, 7 × 200; the work was done 0 times'],
    ['effect-copies-of-failure', [401], [1], 'skipped: the event was not accepted: 8 × 401'],
    ['effect-copies-of-failure', [401, 429], [1], 'skipped: the event was not accepted: 1 × 401, 7 × 429'],
    ['effect-retry-after-failure', [500, 200], [1], 'pass: first 500, then 200; the work was done once'],
    ['effect-retry-after-failure', [401, 500, 200], [1], 'pass: first 401, then 200; the work was done once'],
    ['effect-retry-after-failure', [500, 500, 500, 500, 200], [1], 'pass: first 500, then 200; the work was done once'],
    ['effect-retry-after-failure', [500, 200], [0], 'fail: first 500, then 200; the work was done 0 times'],
    ['effect-retry-after-failure', [500], [1], 'fail: first 500, then 500; the work was done 0 times'],
    ['effect-retry-after-failure', [500, 401], [1], 'fail: first 500, then 401; the work was done 0 times'],
    ['effect-retry-after-failure', [401], [1], 'skipped: the event was not accepted: 401'],
    ['effect-retry-after-failure', [429], [0], 'skipped: the event was not accepted: 429, put off for an unknown time'],
    [
      'effect-retry-after-failure',
      [500, [429, '60']],
      [0],
      'fail: first 500, then 429, put off for 60 s; the work was done 0 times',
    ],
    ['effect-retry-after-failure', [200], [1], 'skipped: 200; there is no retry; see effect-ack-after-work'],
    ['effect-each-event', [200], [1], 'pass: first 200, then 200; the work was done once'],
    ['effect-each-event', [200], [0, 1], 'pass: first 200, then 200; the work was done once'],
    ['effect-each-event', [200], [1, 0], 'fail: first 200, then 200; the work was done 0 times'],
    [
      'effect-each-event',
      [200, FULL],
      [1, 0],
      'fail: first 200, then 503, put off for 60 s; the work was done 0 times',
    ],
    ['effect-each-event', [200], [0], 'skipped: the probe counts no such work: 200'],
    ['effect-each-event', [401], [1], 'skipped: the event was not accepted: 401'],
    ['effect-similar-ids', [200], [1], 'pass: each was done'],
    ['effect-similar-ids', [401], [1], 'skipped: the probe counts no such work'],
    ['effect-similar-ids', [200], [0], 'skipped: the probe counts no such work'],
    ['effect-similar-ids', [200, 409], [1], 'warn: 409; the work was done 0 times; ids differ in the case of a letter'],
    [
      'effect-similar-ids',
      [200, FULL],
      [1],
      'warn: 503, put off for 60 s; the work was done 0 times; ids differ in the case of a letter',
    ],
    ['effect-similar-ids', [200], [1, 0], 'warn: 200; the work was done 0 times; ids differ in the case of a letter'],
    ['effect-similar-ids', [401, 200], [1], 'pass: each was done'],
    ['effect-similar-ids', [200, 200, 401], [1], 'pass: each was done'],
    [
      'effect-similar-ids',
      [200, 200, 200, 409],
      [1],
      'warn: 409; the work was done 0 times; ids differ in the last of 200 characters',
    ],
    [
      'effect-similar-ids',
      [200],
      [1, 1, 1, 0],
      'warn: 200; the work was done 0 times; ids differ in the last of 200 characters',
    ],
    // Of the others, the last two are the first one again, and one that shows that a queue has passed it.
    [
      'effect-once-after-others',
      [...Array(151).fill(200), FULL],
      [1],
      'skipped: the second delivery was not judged: 503, put off for 60 s',
    ],
  ])('%s: if the answers are %j, and the work was done %j times', async (id, steps, runs, expected) => {
    const { verdict } = await judgeEffect(id, steps, runs)
    expect(showVerdict(verdict)).toBe(expected)
  })

  it.each(['effect-none-refused', 'effect-ack-after-work', 'effect-copies-of-failure'])(
    'is skipped if nothing listens any more: %s',
    async (id) => {
      const { scene } = await play([200])
      const probe = { runs: async () => 0, fail: async () => {} }
      const target = { isUnreachable: true, status: undefined, failure: 'the connection was refused' }
      const gone = async () => ({ ...(await scene.send(scene.make.delivery('x'))), ...target })
      const { status } = await runIn({ ...scene, probe, patienceMs: 50, send: gone, sendOnce: gone }, id)
      expect(status).toBe('skipped')
    },
  )
})

describe('the events of a check with a probe', () => {
  const idsOf = (events: readonly { readonly id: string }[]) => events.map(({ id }) => id)

  it('are one event twice, and one more so that a queue has passed it', async () => {
    const { events, asked, waits } = await judgeEffect('effect-once', [200], [1])
    const [first, second, marker] = idsOf(events)
    expect(events).toHaveLength(3)
    expect(second).toBe(first)
    expect(marker).not.toBe(first)
    expect(asked).toEqual([first, marker, first])
    expect(waits).toEqual([300])
  })

  it('are not waited for if the receiver refuses the marker', async () => {
    const { events, asked } = await judgeEffect('effect-once', [200, 200, 401], [1])
    const [first] = idsOf(events)
    expect(asked).toEqual([first, first])
  })

  it('are eight copies, of three events or of one', async () => {
    const { events } = await judgeEffect('effect-once-at-once', [200], [1])
    const ids = idsOf(events.slice(0, 24))
    expect([...new Set(ids)].map((id) => ids.filter((each) => each === id).length)).toEqual([8, 8, 8])
    expect(events).toHaveLength(25)
    const { events: failing } = await judgeEffect('effect-copies-of-failure', [500], [0])
    expect(new Set(idsOf(failing)).size).toBe(1)
    expect(failing).toHaveLength(8)
  })

  it('have one id and two timestamps, a second apart', async () => {
    const { events } = await judgeEffect('effect-once-other-bytes', [200], [1])
    const [first, second] = events
    expect(second).toEqual({ ...first, timestamp: second.timestamp })
    const apart = Date.parse(second.timestamp) - Date.parse(first.timestamp)
    expect(apart).toBeGreaterThanOrEqual(1_000)
  })

  it('are one event, many others, and the first again', async () => {
    const { events } = await judgeEffect('effect-once-after-others', [200], [1])
    const ids = idsOf(events)
    expect(ids).toHaveLength(153)
    expect(ids[151]).toBe(ids[0])
    expect(new Set(ids.slice(0, 151)).size).toBe(151)
  })

  it.each(['effect-none-refused', 'effect-after-forgery'])('begin with a wrong signature: %s', async (id) => {
    const { seen, events } = await judgeEffect(id, [401, 200], [0])
    const signatures = seen.map(({ headers }) => headers['x-service-signature'])
    expect(signatures[0]).toBe(`sha256=${'0'.repeat(64)}`)
    expect(signatures[1]).not.toBe(signatures[0])
    if (id === 'effect-after-forgery') expect(events[1]).toEqual(events[0])
  })

  it.each(['effect-ack-after-work', 'effect-copies-of-failure', 'effect-retry-after-failure'])(
    'are ordered to fail before they are sent: %s',
    async (id) => {
      const { events, failing } = await judgeEffect(id, [500], [1])
      expect(failing).toEqual([[events[0].id, 0]])
      expect(new Set(idsOf(events)).size).toBe(1)
    },
  )

  it('are retried four times within the patience, at growing distances', async () => {
    const { events, waits } = await judgeEffect('effect-retry-after-failure', [500], [0])
    expect(events).toHaveLength(5)
    expect(waits).toEqual([4, 20, 96])
  })

  it('are retried when the receiver asks for it, but within the patience', async () => {
    const steps: readonly Step[] = [500, [503, '0'], [503, '60'], 200]
    const { events, waits } = await judgeEffect('effect-retry-after-failure', steps, [1])
    expect(events).toHaveLength(4)
    expect(waits).toEqual([0, 120])
  })

  it('are two changes of one record, the second of them later', async () => {
    const { events } = await judgeEffect('effect-each-event', [200], [1])
    const [first, second] = events
    expect(events.map(({ type }) => type)).toEqual(['contact.updated', 'contact.updated'])
    expect(second.id).not.toBe(first.id)
    expect(second.data.record).toEqual({ ...first.data.record, lastName: 'Second' })
    expect(first.data.record).toMatchObject({ _id: expect.any(String), lastName: 'First' })
    expect(Date.parse(second.timestamp)).toBeGreaterThan(Date.parse(first.timestamp))
    expect(Date.parse(second.timestamp)).toBeLessThanOrEqual(Date.now() - 1_000)
  })

  it('have ids that differ in the case of a letter, or in the last of 200 characters', async () => {
    const { events } = await judgeEffect('effect-similar-ids', [200], [1])
    const [lower = '', upper = '', first = '', second = '', ...more] = idsOf(events)
    expect(more).toEqual([])
    expect(upper).not.toBe(lower)
    expect(upper.toLowerCase()).toBe(lower.toLowerCase())
    expect([first.length, second.length]).toEqual([200, 200])
    expect(first.slice(0, -1)).toBe(second.slice(0, -1))
    expect(first).not.toBe(second)
  })
})

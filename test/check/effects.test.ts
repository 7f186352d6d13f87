import { describe, expect, it, vi } from 'vitest'
import type { Loss } from '../../tools/check/case.ts'
import { CASES } from '../../tools/check/cases.ts'
import { countingOf, judgeEffect, play, runIn, type Step, showVerdict } from './play.ts'

const FULL: Step = [503, '60']

describe('a check with a probe', () => {
  it('is skipped without one, and sends nothing', async () => {
    const { scene, seen } = await play([200])
    for (const { id } of CASES.filter(({ group }) => group === 'effect'))
      expect(await runIn(scene, id), id).toEqual({ status: 'skipped', answers: [], cause: 'no_probe' })
    expect(seen).toEqual([])
  })

  it('fails if the work of one event of a counted type was not done, or not that of the type that the owner names', async () => {
    const probe = { runs: async () => 1, fail: async () => {} }
    const judge = async (type: string | undefined, losses: readonly Loss[]) => {
      const { scene } = await play([200], { type })
      const verdict = await runIn(
        { ...scene, probe, counting: () => countingOf(['sync.failed'], losses) },
        'effect-types',
      )
      return showVerdict(verdict)
    }
    expect(await judge(undefined, [{ type: 'sync.failed', lost: 1, total: 2 }])).toBe(
      'fail: acknowledged, and the work was not done: sync.failed: 1 of 2 not done',
    )
    expect(await judge('sync.completed', [])).toBe('fail: the probe counts no such work: sync.completed')
    expect(await judge('sync.failed', [])).toBe('warn: not counted: sync.completed')
  })

  // Which receivers pass and which fail is judged by whole ones: alone.test.ts.
  it.each<readonly [id: string, steps: readonly Step[], runs: readonly number[], verdict: string]>([
    ['effect-once', [401], [1], 'skipped: the event was not accepted: 401'],
    ['effect-once', [200, [429, '60']], [1], 'skipped: the second delivery was not judged: 429, put off for 60 s'],
    ['effect-once', [200, FULL], [2], 'fail: first 200, then 503, put off for 60 s; the work was done 2 times'],
    ['effect-once', [200, 409], [1], 'fail: first 200, then 409; the work was done once'],
    ['effect-once-at-once', [200, 409], [1], 'pass: 1 × 200, 23 × 409; the work was done once'],
    ['effect-once-at-once', [200, 503], [1, 1, 0], 'pass: 1 × 200, 23 × 503; the work was done once'],
    ['effect-once-at-once', [401], [1], 'skipped: the event was not accepted: 24 × 401'],
    ['effect-types', [200], [1], 'warn: not counted: contact.updated, contact.deleted'],
    ['effect-none-refused', [FULL], [0], 'skipped: the event was not accepted: 503, put off for 60 s'],
    ['effect-none-refused', [FULL], [2], 'fail: 503, put off for 60 s; the work was done 2 times'],
    ['effect-after-forgery', [401, [429, '60']], [0], 'skipped: the event was not accepted: 429, put off for 60 s'],
    ['effect-ack-after-work', [401], [1], 'skipped: the event was not accepted: 401'],
    ['effect-ack-after-work', [429], [1], 'skipped: the event was not accepted: 429, put off for an unknown time'],
    ['effect-copies-of-failure', [401, 500], [0], 'pass: 1 × 401, 7 × 500'],
    ['effect-copies-of-failure', [401], [1], 'skipped: the event was not accepted: 8 × 401'],
    ['effect-copies-of-failure', [401, 429], [1], 'skipped: the event was not accepted: 1 × 401, 7 × 429'],
    ['effect-retry-after-failure', [500, 500, 500, 500, 200], [1], 'pass: first 500, then 200; the work was done once'],
    ['effect-retry-after-failure', [500, 401], [1], 'fail: first 500, then 401; the work was done 0 times'],
    ['effect-retry-after-failure', [401], [1], 'skipped: the event was not accepted: 401'],
    ['effect-retry-after-failure', [429], [0], 'skipped: the event was not accepted: 429, put off for an unknown time'],
    [
      'effect-retry-after-failure',
      [500, [429, '60']],
      [0],
      'fail: first 500, then 429, put off for 60 s; the work was done 0 times',
    ],
    ['effect-retry-after-failure', [200], [1], 'pass: 200; the work was done once'],
    ['effect-retry-after-failure', [200], [0], 'fail: 200; the work was done 0 times'],
    [
      'effect-each-event',
      [...Array(8).fill(200), FULL],
      [1],
      'fail: first 200, then 503, put off for 60 s; the work was done 0 times; a few milliseconds apart, with fractions of 0, 1 and 2 digits',
    ],
    ['effect-each-event', [200], [0], 'skipped: the probe counts no such work'],
    ['effect-each-event', [401], [1], 'skipped: the event was not accepted: 401'],
    ['effect-similar-ids', [401], [1], 'skipped: the probe counts no such work'],
    ['effect-similar-ids', [200], [0], 'skipped: the probe counts no such work'],
    ['effect-similar-ids', [401, 200], [1], 'pass: 200; the work was done once'],
    // The work of the others is not done as fast.
    [
      'effect-once-after-others',
      [...Array(151).fill(200), FULL],
      [0, 1],
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

  it('have ids of their own in each pair of similar ones', async () => {
    const { events } = await judgeEffect('effect-similar-ids', [200], [1])
    const ids = idsOf(events).filter((id) => events[0]?.id.startsWith(id.slice(0, 19)))
    expect(ids.length).toBeGreaterThan(20)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('are one event three times, and three more, of which one shows that a queue has passed it', async () => {
    const { events, asked, waits } = await judgeEffect('effect-once', [200], [1])
    const [first, second, third, marker] = idsOf(events)
    expect(events).toHaveLength(6)
    expect([second, third]).toEqual([first, first])
    expect(marker).not.toBe(first)
    expect(asked).toEqual([first, marker, first])
    expect(waits).toEqual([300])
  })

  it('are one event, 1,050 others, the same again and three more for a receiver that is quick enough', async () => {
    vi.spyOn(performance, 'now').mockReturnValue(0)
    const { events } = await judgeEffect('effect-once-after-others', [200], [1])
    const ids = idsOf(events)
    expect(ids.lastIndexOf(ids[0] ?? '')).toBe(1_051)
    expect(new Set(ids).size).toBe(1 + 1_050 + 3)
  })

  it.each([
    ['450', 'does the work of 50', 450, 0, 1],
    ['50', 'has not done the work of 50', 50, 500, 0],
  ])('of a burst are %s for a receiver that %s within 3 s', async (_number, _what, size, stepMs, runs) => {
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => (now += stepMs))
    const { events } = await judgeEffect('burst', [200], [runs])
    expect(new Set(idsOf(events)).size).toBe(size)
  })

  it('are not waited for if the receiver refuses the marker', async () => {
    const { events, asked } = await judgeEffect('effect-once', [200, 200, 200, 401], [1])
    const [first] = idsOf(events)
    expect(asked).toEqual([first, first])
  })

  it('are retried four times within the patience, at growing distances', async () => {
    const { events, waits } = await judgeEffect('effect-retry-after-failure', [500], [0])
    expect(events).toHaveLength(5)
    expect(waits).toEqual([4, 20, 24])
  })

  it('are not used up by a receiver that puts them off, within the patience', async () => {
    const steps: readonly Step[] = [...Array<Step>(5).fill([503, '0']), 500, 500, 200]
    const { verdict, waits } = await judgeEffect('effect-retry-after-failure', steps, [1])
    expect(showVerdict(verdict)).toBe('pass: first 503, put off for 0 s, then 200; the work was done once')
    expect(waits).toEqual([0, 0, 0, 0, 4, 20])
  })

  it('are retried when the receiver asks for it, but within the patience', async () => {
    const steps: readonly Step[] = [500, [503, '0'], [503, '60'], 200]
    const { events, waits } = await judgeEffect('effect-retry-after-failure', steps, [1])
    expect(events).toHaveLength(4)
    expect(waits).toEqual([0, 120])
  })
})

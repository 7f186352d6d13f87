import { describe, expect, it } from 'vitest'
import { NoDedup, NotesBeforeWork } from './faulty/deliveries.ts'
import { RemembersPerWorker } from './faulty/effects.ts'
import { judge } from './judge.ts'

describe('the hint of a check', () => {
  it('names several processes first if some duplicates are recognized and others are not', async () => {
    const only = ['effect-once', 'effect-once-at-once', 'effect-copies-of-failure']
    const { checks } = await judge(new RemembersPerWorker(), { only })
    expect(checks).toHaveLength(3)
    for (const { hint } of checks) expect(hint).toMatch(/^Some duplicates .* several processes/)
  })

  it.each([
    ['a duplicate that ended the retries', NotesBeforeWork, /^A duplicate got a 2xx /],
    ['duplicates that did the work', NoDedup, /^After the failure, several duplicates did the work/],
  ])('of a failure with duplicates names what was seen: %s', async (_what, Receiver, text) => {
    const { checks } = await judge(new Receiver(), { only: ['effect-once', 'effect-copies-of-failure'] })
    expect(checks.find(({ id }) => id === 'effect-copies-of-failure')?.hint).toMatch(text)
  })
})

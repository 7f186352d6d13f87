import { describe, expect, it } from 'vitest'
import type { HandWritten } from './faulty/hand-written.ts'
import * as states from './faulty/states.ts'
import { judge, told } from './judge.ts'

const SENT = ['signature', 'bytes', 'time', 'burst']

describe('the diagnosis of many failures with one cause', () => {
  it.concurrent.each<readonly [code: string, Receiver: new () => HandWritten, only: readonly string[]]>([
    ['locked_out', states.LocksOut, SENT],
    ['locked_out', states.LocksOutForATime, SENT],
    ['no_recovery', states.NeverRecovers, ['effect-ack-after-work', 'effect-similar-ids', 'load']],
    ['no_recovery', states.KeepsPlaces, ['meaning', 'time', 'load']],
    ['no_more_work', states.AcksForEverAfterFailures, ['effect-ack-after-work', 'effect-similar-ids', 'load']],
    ['similar_ids', states.ComparesStartsOfIds, ['effect-types']],
    ['same_time', states.DedupesByTypeAndTime, ['burst', 'effect-same-time', 'effect-once-at-once']],
    ['first_part', states.ReadsFirstPart, ['bytes', 'load']],
    ['too_many', states.DropsWhatItsQueueCannotTake, ['burst', 'load', 'effect']],
  ])('is %s: %o', { retry: 1 }, async (code, Receiver, only) => {
    const report = await judge(new Receiver(), { only: ['accepts-valid', ...only] })
    expect(report.diagnosis?.code).toBe(code)
    const own = Object.keys(told(report, 'fail')).filter((id) => report.diagnosis?.follows.includes(id) !== true)
    expect(own.length).toBeLessThan(2)
  })
})

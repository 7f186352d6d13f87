import { CAUSES, type Cause } from './case.ts'
import type { CheckResult, Unchecked } from './report.ts'

/** Results that the owner asked for, that have nothing to judge, or that another check explains. */
const EXPECTED: readonly (Cause | undefined)[] = ['not_asked', 'no_probe', 'not_counted', 'behind', 'too_slow']

/** Lists the checks that were skipped though they should have judged the receiver. */
export function listUnjudged(checks: readonly CheckResult[]): readonly CheckResult[] {
  return checks.filter(({ status, cause }) => status === 'skipped' && cause !== undefined && !EXPECTED.includes(cause))
}

/** Lists what a run has not checked, the most common loss first. */
export function listUnchecked(checks: readonly CheckResult[]): readonly Unchecked[] {
  const skipped = checks.filter(({ status }) => status === 'skipped')
  const unseen = skipped.filter(({ cause }) => cause === 'no_probe').length
  const others = skipped.filter(({ cause }) => cause !== 'no_probe')
  const list: readonly (Unchecked | undefined)[] = [
    {
      code: 'crash',
      text: 'Survival of a crash: a receiver that answers 2xx and keeps the event in memory loses it if its process ends. Kill the process (SIGKILL) after an answer, start it again, and see that the work is done.',
    },
    unseen === 0
      ? undefined
      : {
          code: 'work',
          text: `The work of the events, for ${unseen} checks: they need a probe (--probe or --probe-cmd).`,
        },
    others.length === 0
      ? undefined
      : {
          code: 'skipped',
          text: `${others.length} skipped ${others.length === 1 ? 'check' : 'checks'}: ${tell(others)}.`,
        },
    {
      code: 'stored',
      text: 'What the work writes: a probe counts work, and does not see a name in wrong characters, or an older event that overwrites a newer one. Nor do records come back in the checks: one that was deleted may be created again with its _id, and one of another model may have the same.',
    },
    {
      code: 'accounts',
      text: 'Several accounts: all events that a probe counts are of one account. Two accounts may have events of one id: remember the account and the id together, each with its length or in a column of its own.',
    },
    {
      code: 'tries',
      text: 'How often failed work is tried again: the checks make it fail twice at most, and the service would try five times in two and a half hours. An event that is given up sooner after a 2xx has to be kept for a person.',
    },
    {
      code: 'processes',
      text: 'Several processes: if more than one receives events, duplicates have to be recognized by all of them, in a database.',
    },
    {
      code: 'bursts',
      text: 'Bursts of more than 450 events: a queue in memory that holds more, and drops what it cannot take, loses the rest of an import.',
    },
    {
      code: 'retention',
      text: 'How long ids are kept: a duplicate may come three hours after its event, or days after it if a person retries it. The checks send one after 1,050 events or 21 s, and hardly later.',
    },
    { code: 'timing', text: 'Comparison in constant time: the noise of a network is larger than the difference.' },
  ]
  return list.filter((each) => each !== undefined)
}

/** Names checks by the reason why they were skipped. */
function tell(checks: readonly CheckResult[]): string {
  const byReason = new Map<string, string[]>()
  for (const { id, cause, reason } of checks) {
    const why = cause === undefined ? reason : CAUSES[cause]
    byReason.set(why, [...(byReason.get(why) ?? []), id])
  }
  return [...byReason].map(([why, ids]) => `${ids.join(', ')} (${why})`).join('; ')
}

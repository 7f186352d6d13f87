import type { JSX } from 'preact'
import type { Row } from '../../emulator/contract.ts'
import { store } from '../model/store.ts'
import { Icon, In, STATES, stateOf, useTime } from '../parts/small.tsx'
import { adviseOn, explainCode } from '../text/explain.ts'

/** The state of a delivery in one line, and advice in another. */
export function VerdictView({ row, url }: { readonly row: Row; readonly url: string }): JSX.Element {
  const { last, attempts, note, nextAt, resendOf } = row
  const state = useTime((now) => stateOf(row, now))
  const isRefused = last !== null && !last.isAcknowledged
  const advice = isRefused ? adviseOn(row, url, store.state?.settings.deadlineMs) : explainCode(last?.code ?? null)
  const answer = last === null ? undefined : [last.result, last.code].filter(Boolean).join(' ')
  const before = answer === undefined ? '' : `; last answer ${answer}`
  const nth = attempts > 5 ? `attempt ${attempts}, by hand` : `attempt ${attempts} of 5`
  const done = resendOf === null ? nth : 'resent by hand'
  const isPlanned = state === 'retrying' || state === 'waiting'
  const texts = {
    ok: `${done} · ${last?.ms} ms`,
    failed: note ?? (attempts > 1 ? `failed after ${attempts} attempts` : done),
    held: `its webhook is paused${before}`,
    sending: `attempt ${attempts + 1} is under way or due${before}`,
    retrying: `attempt ${attempts + 1} of 5 `,
    waiting: 'attempt 1 of 5 ',
  }
  return (
    <div class={isRefused || row.status === 'failed' ? 'verdict bad' : 'verdict'}>
      <p class="line">
        <Icon sign={STATES[state][0]} /> <b>{state === 'held' || state === 'sending' ? state : (answer ?? state)}</b> ·{' '}
        {texts[state]}
        {isPlanned && <In at={nextAt} />}
        {isPlanned && store.state?.clock.isManual && ' (the clock stands still)'}
      </p>
      {advice !== undefined && <p>{advice}</p>}
    </div>
  )
}

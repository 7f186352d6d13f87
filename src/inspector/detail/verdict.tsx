import type { JSX } from 'preact'
import type { DeliveryDetail } from '../../emulator/contract.ts'
import type { PlacedRow } from '../model/rows.ts'
import { store } from '../model/store.ts'
import { Icon, In, iconOf, stateOf, useTime } from '../parts/small.tsx'
import { adviseOn, explainCode } from '../text/explain.ts'

/** The state of a delivery in one line, and advice in another. */
export function VerdictView({
  detail,
  row,
}: {
  readonly detail: DeliveryDetail
  readonly row: PlacedRow
}): JSX.Element {
  const { last } = row
  const url = detail.attempts.at(-1)?.url ?? store.urlOf(row.webhook)
  const advice =
    last === null || last.isAcknowledged
      ? explainCode(last?.code ?? null)
      : adviseOn(last, url, store.state?.settings.deadlineMs)
  const isBad = row.status === 'failed' || (last !== null && !last.isAcknowledged)
  return (
    <div class={isBad ? 'verdict bad' : 'verdict'}>
      <Line row={row} note={detail.note} />
      {isSpoilt(row) ? (
        <p>The signature was made wrong on purpose, and the receiver refused it, as it should.</p>
      ) : (
        advice !== undefined && <p>{advice}</p>
      )}
    </div>
  )
}

function isSpoilt({ signing, last }: PlacedRow): boolean {
  return signing !== 'valid' && last !== null && /^4\d\d$/.test(last.result)
}

function Line({ row, note }: { readonly row: PlacedRow; readonly note: string | undefined }): JSX.Element {
  const { last, attempts, nextAt, resendOf } = row
  const state = useTime((now) => stateOf(row, now))
  const answer = last === null ? '' : [last.result, last.code].filter(Boolean).join(' ')
  const before = answer === '' ? '' : `; last answer ${answer}`
  const nth =
    resendOf !== null ? 'resent by hand' : attempts > 5 ? `attempt ${attempts}, by hand` : `attempt ${attempts} of 5`
  const texts: Partial<Record<typeof state, readonly [word: string, text: string]>> = {
    ok: [answer, `${nth} · ${last?.ms} ms`],
    failed: [answer || 'failed', note ?? (attempts > 1 ? `failed after ${attempts} attempts` : nth)],
    held: ['held', `its webhook is paused${before}`],
    sending: ['sending', `attempt ${attempts + 1} is under way or due${before}`],
  }
  const [word, text] = texts[state] ?? [answer || 'waiting', undefined]
  return (
    <p class="line">
      <Icon sign={iconOf(state)} /> <b>{word}</b>
      {text !== undefined && ` · ${text}`}
      {text === undefined && nextAt !== null && (
        <>
          {' '}
          · attempt {attempts + 1} of 5 <In at={nextAt} />
        </>
      )}
      {text === undefined && store.state?.clock.isManual && ' (the clock stands still)'}
    </p>
  )
}

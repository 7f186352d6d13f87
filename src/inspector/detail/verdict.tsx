import type { JSX } from 'preact'
import { page } from '../model/page-model.ts'
import type { PlacedRow } from '../model/rows.ts'
import { In, stateOf } from '../parts/small.tsx'
import { useNow } from '../parts/ticker.ts'
import type { DeliveryDetail } from '../shapes.ts'
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
  const url = detail.attempts.at(-1)?.url ?? page.urlOf(row.webhook)
  const advice = last === null || last.isAcknowledged ? explainCode(last?.code ?? null) : adviseOn(last, url)
  const isBad = row.status === 'failed' || (last !== null && !last.isAcknowledged)
  return (
    <div class={isBad ? 'verdict bad' : 'verdict'}>
      <p class="line">
        <Line row={row} note={detail.note} />
      </p>
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
  const state = stateOf(row, useNow())
  const answer = last === null ? '' : [last.result, last.code].filter(Boolean).join(' ')
  const nth =
    resendOf !== null ? 'resent by hand' : attempts > 5 ? `attempt ${attempts}, by hand` : `attempt ${attempts} of 5`
  if (state === 'ok')
    return (
      <>
        <Icon sign="✓" /> <b>{answer}</b> · {nth} · {last?.ms} ms
      </>
    )
  if (state === 'failed')
    return (
      <>
        <Icon sign="✕" /> <b>{answer || 'failed'}</b> ·{' '}
        {note ?? (attempts > 1 ? `failed after ${attempts} attempts` : nth)}
      </>
    )
  if (state === 'held')
    return (
      <>
        <Icon sign="‖" /> <b>held</b> · its webhook is paused{answer && `; last answer ${answer}`}
      </>
    )
  if (state === 'sending')
    return (
      <>
        <Icon sign="◌" /> <b>sending</b> · attempt {attempts + 1} is under way or due
        {answer && `; last answer ${answer}`}
      </>
    )
  return (
    <>
      <Icon sign={attempts === 0 ? '○' : '↻'} /> <b>{answer || 'waiting'}</b>
      {nextAt !== null && (
        <>
          {' '}
          · attempt {attempts + 1} of 5 <In at={nextAt} />
        </>
      )}
      {page.state?.clock.isManual && ' (the clock stands still)'}
    </>
  )
}

function Icon({ sign }: { readonly sign: string }): JSX.Element {
  return (
    <span class="icon" aria-hidden="true">
      {sign}
    </span>
  )
}

import type { JSX } from 'preact'
import type { AttemptDetail, DeliveryDetail } from '../../emulator/contract.ts'
import { showDuration } from '../../host/duration.ts'
import { ATTEMPT_DELAYS_MS, MAX_ATTEMPTS } from '../../protocol/schedule.ts'
import { store } from '../model/store.ts'
import { In } from '../parts/small.tsx'
import { showExact } from '../text/times.ts'

interface TimelineOptions {
  readonly detail: DeliveryDetail
  readonly shown: AttemptDetail | undefined
  readonly onChoose: (number: number) => void
}

/** Attempts on the planned schedule, evenly spaced, with the delays written between them. */
export function Timeline({ detail, ...others }: TimelineOptions): JSX.Element {
  const { attempts, resendOf, status } = detail
  const planned = resendOf === undefined && attempts.length <= MAX_ATTEMPTS ? MAX_ATTEMPTS : attempts.length
  const count = Math.max(1, planned, attempts.length + (status === 'pending' ? 1 : 0))
  return (
    <div class="section">
      <h2>Attempts</h2>
      <ol class="timeline">
        {Array.from({ length: count }, (_, index) => (
          <Step key={index} index={index} detail={detail} {...others} />
        ))}
      </ol>
    </div>
  )
}

function Step({ detail, index, shown, onChoose }: TimelineOptions & { readonly index: number }): JSX.Element {
  const attempt = detail.attempts[index]
  const isNext = attempt === undefined && index === detail.attempts.length && detail.nextAttemptAt !== null
  const result = attempt?.status ?? attempt?.failure
  return (
    <li class={attempt === undefined ? (isNext ? 'next' : 'planned') : attempt.failure === undefined ? 'ok' : 'bad'}>
      <span class="gap">{gapBefore(detail, index)}</span>
      {attempt === undefined ? (
        <span class="step">
          <span class="mark" aria-hidden="true">
            {isNext ? '○' : '·'}
          </span>
          <span class="word">
            {isNext && detail.nextAttemptAt !== null ? (
              <In at={detail.nextAttemptAt} />
            ) : detail.status === 'pending' ? (
              index + 1
            ) : (
              '–'
            )}
          </span>
        </span>
      ) : (
        <button
          type="button"
          class="step"
          aria-pressed={attempt === shown}
          title={`${showExact(attempt.at, store.isUtc)}, ${attempt.durationMs} ms`}
          onClick={() => onChoose(attempt.number)}
        >
          <span class="mark" aria-hidden="true">
            {attempt.failure === undefined ? '✓' : '✕'}
          </span>
          <span class="word">
            <span class="unseen">Attempt {attempt.number}: </span>
            {result}
          </span>
        </button>
      )}
    </li>
  )
}

/** The planned delay before an attempt, divided by the retry scale. */
function gapBefore({ resendOf }: DeliveryDetail, index: number): string {
  if (index >= MAX_ATTEMPTS || resendOf !== undefined) return 'by hand'
  const delay = ATTEMPT_DELAYS_MS[index] ?? 0
  const scale = store.state?.settings.retryScale ?? 1
  return index === 0 ? 'first' : `+ ${showDuration(delay / scale)}`
}

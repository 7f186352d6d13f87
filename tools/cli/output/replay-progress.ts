import type { ReplayProgress, Wait } from '../../../src/client/client.ts'
import { showDuration } from '../../../src/host/duration.ts'
import type { Io } from '../io.ts'
import { formatProgress, showProgress } from './progress-line.ts'

/** Display of a replay: its progress, and the wait under way. */
export type ReplayDisplay = ReturnType<typeof createReplayDisplay>

export function createReplayDisplay(io: Io) {
  let waitsUntil = 0
  let waitsFor: Wait['reason'] = 'rate_limit'
  let retryingSince: number | undefined
  let progress: ReplayProgress | undefined
  const look = () => {
    const now = performance.now()
    const waitMs = Math.max(0, Math.round(waitsUntil - now))
    const status = { ...toStatus(progress, waitMs, now - (retryingSince ?? now)), waitMs, waitsFor }
    return { text: formatStatus(status), record: { ...status, ...progress } }
  }
  return {
    /** Shows it until the function that it returns is called. */
    show: () => showProgress(io, look),
    onWait({ ms, reason }: Wait): void {
      const until = performance.now() + ms
      if (until < waitsUntil) return // a longer wait is under way
      waitsUntil = until
      waitsFor = reason
    },
    onProgress(next: ReplayProgress): void {
      retryingSince ??= performance.now()
      progress = next
    },
    get progress() {
      return progress
    },
  }
}

/** Retries first, and then their results. Times are in milliseconds: of the wait under way, and since the first retry. */
function toStatus(progress: ReplayProgress | undefined, waitMs: number, elapsedMs: number) {
  if (progress === undefined) return { phase: 'reading', done: 0, total: 0, etaMs: undefined }
  const { total, retried, resumed, refused, succeeded, failed } = progress
  const done = Math.min(total, retried + resumed + refused)
  if (done === total) return { phase: 'results', done: succeeded + failed + refused, total, etaMs: undefined }
  const here = retried + refused
  // The current wait belongs to the retries before it: a rate limit allows a burst, and then a wait.
  const etaMs = here > 0 ? Math.round(waitMs + ((elapsedMs + waitMs) / here) * (total - done)) : undefined
  return { phase: 'retrying', done, total, etaMs }
}

type ReplayStatus = ReturnType<typeof toStatus> & { readonly waitMs: number; readonly waitsFor: Wait['reason'] }

function formatStatus({ phase, waitMs, waitsFor, ...progress }: ReplayStatus): string {
  const why = waitsFor === 'rate_limit' ? 'for rate limit' : 'after a failure'
  const wait = waitMs >= 100 ? `waiting ${showDuration(waitMs)} ${why}` : undefined
  if (phase === 'reading') return ['reading the log', wait].filter(Boolean).join('  ')
  return formatProgress(phase === 'results' ? 'waiting for results' : phase, { ...progress, wait })
}

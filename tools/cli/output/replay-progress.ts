import type { ReplayProgress, Wait } from '../../../src/client/client.ts'
import { showDuration } from '../../../src/host/duration.ts'
import type { Io } from '../io.ts'
import { formatProgress, showProgress } from './progress-line.ts'

export class ReplayDisplay {
  #waitsUntil = 0
  #waitsFor: Wait['reason'] = 'rate_limit'
  #retryingSince: number | undefined
  progress: ReplayProgress | undefined

  /** Shows the progress until the function that it returns is called. */
  show(io: Io): () => void {
    return showProgress(io, () => {
      const now = performance.now()
      const waitMs = Math.max(0, Math.round(this.#waitsUntil - now))
      const elapsedMs = now - (this.#retryingSince ?? now)
      const status = { ...toStatus(this.progress, { waitMs, elapsedMs }), waitMs, waitsFor: this.#waitsFor }
      return { text: formatStatus(status), record: { ...status, ...this.progress } }
    })
  }

  onWait({ ms, reason }: Wait): void {
    const until = performance.now() + ms
    if (until < this.#waitsUntil) return // a longer wait is under way
    this.#waitsUntil = until
    this.#waitsFor = reason
  }

  onProgress(progress: ReplayProgress): void {
    this.#retryingSince ??= performance.now()
    this.progress = progress
  }
}

/**
 * Retries first, and then their results.
 *
 * @param pace the wait under way, and the time since the first retry, in milliseconds
 */
function toStatus(
  progress: ReplayProgress | undefined,
  { waitMs, elapsedMs }: { readonly waitMs: number; readonly elapsedMs: number },
) {
  if (progress === undefined) return { phase: 'reading', done: 0, total: 0, etaMs: undefined } as const
  const { total, retried, resumed, refused, succeeded, failed } = progress
  const handed = Math.min(total, retried + resumed + refused)
  if (handed === total)
    return { phase: 'results', done: succeeded + failed + refused, total, etaMs: undefined } as const
  const here = retried + refused
  // The current wait belongs to the retries before it: a rate limit allows a burst, and then a wait.
  const pace = (elapsedMs + waitMs) / here
  const etaMs = here > 0 ? Math.round(waitMs + pace * (total - handed)) : undefined
  return { phase: 'retrying', done: handed, total, etaMs } as const
}

const PHASES = { retrying: 'retrying', results: 'waiting for results' }

type ReplayStatus = ReturnType<typeof toStatus> & { readonly waitMs: number; readonly waitsFor: Wait['reason'] }

function formatStatus({ phase, waitMs, waitsFor, ...progress }: ReplayStatus): string {
  const why = waitsFor === 'rate_limit' ? 'for rate limit' : 'after a failure'
  const wait = waitMs >= 100 ? `waiting ${showDuration(waitMs)} ${why}` : undefined
  if (phase === 'reading') return ['reading the log', wait].filter(Boolean).join('  ')
  return formatProgress(PHASES[phase], { ...progress, wait })
}

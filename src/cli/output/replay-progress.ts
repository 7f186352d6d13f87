import type { ReplayProgress, Wait } from '../../client/client.ts'
import { showDuration } from '../../host/duration.ts'
import type { Io } from '../io.ts'
import { formatProgress, ProgressLine } from './progress-line.ts'

export class ProgressDisplay extends ProgressLine {
  #waitsUntil = 0
  #waitsFor: Wait['reason'] = 'rate_limit'
  #retryingSince: number | undefined
  progress: ReplayProgress | undefined

  constructor(io: Io, isJson: boolean) {
    super(io, isJson, () => {
      const now = performance.now()
      const status = toStatus(this.progress, {
        waitMs: this.#waitsUntil - now,
        waitsFor: this.#waitsFor,
        elapsedMs: now - (this.#retryingSince ?? now),
      })
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

/** Times in milliseconds. */
interface Waiting {
  readonly waitMs: number
  readonly waitsFor: Wait['reason']
}

interface Pace extends Waiting {
  /** Since the first retry. */
  readonly elapsedMs: number
}

interface ReplayStatus extends Waiting {
  readonly phase: 'reading' | 'retrying' | 'results'
  readonly done: number
  readonly total: number
  readonly etaMs: number | undefined
}

/** Retries first, and then their results. */
export function toStatus(progress: ReplayProgress | undefined, { waitMs, waitsFor, elapsedMs }: Pace): ReplayStatus {
  const wait = { waitMs: Math.max(0, Math.round(waitMs)), waitsFor }
  if (progress === undefined) return { phase: 'reading', done: 0, total: 0, ...wait, etaMs: undefined }
  const { total, retried, resumed, refused, succeeded, failed } = progress
  const handed = Math.min(total, retried + resumed + refused)
  if (handed === total)
    return { phase: 'results', done: succeeded + failed + refused, total, ...wait, etaMs: undefined }
  const here = retried + refused
  // The current wait belongs to the retries before it: a rate limit allows a burst, and then a wait.
  const pace = (elapsedMs + wait.waitMs) / here
  const etaMs = here > 0 ? Math.round(wait.waitMs + pace * (total - handed)) : undefined
  return { phase: 'retrying', done: handed, total, ...wait, etaMs }
}

const PHASES = { retrying: 'retrying', results: 'waiting for results' }

export function formatStatus({ phase, waitMs, waitsFor, ...progress }: ReplayStatus): string {
  const why = waitsFor === 'rate_limit' ? 'for rate limit' : 'after a failure'
  const wait = waitMs >= 100 ? `waiting ${showDuration(waitMs)} ${why}` : undefined
  if (phase === 'reading') return ['reading the log', wait].filter(Boolean).join('  ')
  return formatProgress(PHASES[phase], { ...progress, wait })
}

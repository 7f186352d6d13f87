import type { ReplayProgress, Wait } from '../../client/client.ts'
import type { Io } from '../io.ts'
import { ProgressLine } from './progress-line.ts'
import { showTime } from './show-time.ts'

/** Progress of a replay, as a line. */
export class ProgressDisplay {
  readonly #line: ProgressLine
  #waitsUntil = 0
  #waitsFor: Wait['reason'] = 'rate_limit'
  #retryingSince: number | undefined
  progress: ReplayProgress | undefined

  constructor(io: Io, isJson: boolean) {
    this.#line = new ProgressLine(io, isJson, () => {
      const now = performance.now()
      const status = toStatus(this.progress, {
        waitMs: this.#waitsUntil - now,
        waitsFor: this.#waitsFor,
        elapsedMs: now - (this.#retryingSince ?? now),
      })
      return { text: formatStatus(status), record: { ...status, ...this.progress } }
    })
  }

  start(): void {
    this.#line.start()
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

  end(): void {
    this.#line.end()
  }
}

/** Times in milliseconds. */
interface Pace {
  readonly waitMs: number
  readonly waitsFor: Wait['reason']
  /** Since the first retry. */
  readonly elapsedMs: number
}

/** Progress with its times, in milliseconds. */
interface ReplayStatus {
  readonly phase: 'reading' | 'retrying' | 'results'
  readonly done: number
  readonly total: number
  readonly waitMs: number
  readonly waitsFor: Wait['reason']
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

const PHASES = { reading: 'reading the log', retrying: 'retrying', results: 'waiting for results' }

/** `retrying 120/300  40.0%  waiting 1.4 s for rate limit  eta 11 s` */
export function formatStatus({ phase, done, total, waitMs, waitsFor, etaMs }: ReplayStatus): string {
  const why = waitsFor === 'rate_limit' ? 'for rate limit' : 'after a failure'
  const parts = [
    phase === 'reading' ? PHASES.reading : `${PHASES[phase]} ${done}/${total}`,
    total > 0 && `${((100 * done) / total).toFixed(1)}%`,
    waitMs >= 100 && `waiting ${showTime(waitMs)} ${why}`,
    etaMs !== undefined && `eta ${showTime(Math.max(1_000, etaMs))}`,
  ]
  return parts.filter(Boolean).join('  ')
}

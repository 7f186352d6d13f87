import { PosternError } from '../protocol/errors.ts'
import type { Claim } from '../store/store.ts'
import { keepTrying, STORE_LIMIT_MS } from './keep-trying.ts'
import type { RunHost } from './run-host.ts'
import { callWithin } from './within.ts'

/** A claim that this process holds: renewed while it is kept alive, then completed or released. */
export class Lease {
  readonly #host: RunHost
  readonly #key: string
  readonly #token: string
  #renewAt: number
  #timer: unknown
  #isKept = false
  #isRenewing = false
  #afterRenewal: (() => void) | undefined

  /** @param askedAt when the claim was asked for, or earlier: the engine cannot have begun to count before */
  constructor(host: RunHost, key: string, token: string, askedAt: number) {
    this.#host = host
    this.#key = key
    this.#token = token
    this.#renewAt = askedAt + host.leaseMs / 3
  }

  /** When the claim ends unless it is renewed again, on the monotonic clock. */
  get endsAt(): number {
    return this.#renewAt + (this.#host.leaseMs * 2) / 3
  }

  /** Renews the claim at a third of its time, with the marks made so far, until `stop`. */
  keepAlive(marks: readonly string[], onLost: () => void): void {
    if (this.#isKept) return
    this.#isKept = true
    const { clock } = this.#host
    const arm = () => {
      this.#timer = clock.setTimeout(renew, Math.max(this.#renewAt - clock.monotonic(), 0))
    }
    const renew = () => {
      this.#renew(marks, onLost)
      if (this.#isKept) arm()
    }
    arm()
  }

  stop(): void {
    if (!this.#isKept) return
    this.#isKept = false
    this.#host.clock.clearTimeout(this.#timer)
  }

  /** Leaves the claim to run out, and the marks made so far with it. */
  abandon(marks: readonly string[]): void {
    this.stop()
    if (marks.length > 0) this.#whenRenewed(() => this.#renew(marks, ignore))
  }

  /** Tells the store that the event is done. What it throws is thrown, and its answer is not waited for. */
  complete(): boolean | Promise<boolean> {
    return this.#host.store.complete(this.#key, this.#token)
  }

  /** Commits what `work` writes together with the finish mark of its handler. */
  async transact(mark: string, signal: AbortSignal, work: (tx: never) => unknown): Promise<unknown> {
    const { transact } = this.#host
    if (transact === undefined) throw new TypeError('the store has no transactions')
    return transact({ key: this.#key, token: this.#token, mark, signal }, work)
  }

  /**
   * Gives the claim back. Where the store can't be reached nobody waits for it, but it is offered again for a while: with it go the
   * marks of the handlers that finished, which the next attempt would run again.
   */
  release(limitMs: number, marks: readonly string[], then: () => void): void {
    // A renewal that the store carried out after the release would bring the claim back to life.
    this.#whenRenewed(() => {
      const { clock, store, reporter } = this.#host
      const release = () => store.release(this.#key, this.#token, marks)
      callWithin(clock, limitMs, 'store.release', release, then, (cause) => {
        reporter.error(toStoreError('release', cause, 'it is tried again for 60 s, and the lease ends by itself'))
        keepTrying(this.#host, 'store.release', release, ignore, (again) =>
          reporter.error(
            toStoreError('release', again, 'that was the last try, and handlers that had finished may run again'),
          ),
        )
        then()
      })
    })
  }

  #renew(marks: readonly string[], onLost: () => void): void {
    const { store, leaseMs, clock, reporter } = this.#host
    this.#renewAt = clock.monotonic() + leaseMs / 3
    if (this.#isRenewing) return
    this.#isRenewing = true
    callWithin(
      clock,
      STORE_LIMIT_MS,
      'store.renew',
      () => store.renew(this.#key, this.#token, leaseMs, [...marks]),
      (isHeld) => {
        if (!isHeld) {
          this.stop()
          onLost()
        }
        this.#onRenewalEnd()
      },
      (cause) => {
        reporter.error(toStoreError('renew', cause, 'it is tried again while the claim is needed'))
        this.#onRenewalEnd()
      },
    )
  }

  #onRenewalEnd(): void {
    this.#isRenewing = false
    const next = this.#afterRenewal
    this.#afterRenewal = undefined
    next?.()
  }

  #whenRenewed(next: () => void): void {
    if (this.#isRenewing) this.#afterRenewal = next
    else next()
  }
}

/** Whether a store's answer to `claim` is one. Stores of one's own may be plain JavaScript. */
export function isClaim(answer: unknown): answer is Claim {
  const { state, token, marks } = Object(answer) as Partial<Record<'state' | 'token' | 'marks', unknown>> // each is checked here
  return (
    state === 'done' || state === 'busy' || (state === 'claimed' && typeof token === 'string' && Array.isArray(marks))
  )
}

export function toStoreError(
  method: 'claim' | 'renew' | 'complete' | 'release',
  cause: unknown,
  consequence: string,
): PosternError {
  return new PosternError('store_unavailable', `store.${method}() failed or did not answer in time; ${consequence}.`, {
    cause,
  })
}

const ignore = () => {}

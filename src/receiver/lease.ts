import { PosternError } from '../protocol/errors.ts'
import type { RunHost } from './run-host.ts'
import { type Continuations, callWithin } from './within.ts'

/** A call to the store is given up after this many milliseconds. */
export const STORE_LIMIT_MS = 3_000

/** A claim that this process holds: renewed while it is kept alive, then completed or released. */
export class Lease {
  readonly #host: RunHost
  readonly #key: string
  readonly #token: string
  #renewAt: number
  #timer: unknown
  #isRenewing = false
  #isKept = false

  /** @param askedAt when the claim was asked for: the engine cannot have begun to count earlier */
  constructor(host: RunHost, key: string, token: string, askedAt: number) {
    this.#host = host
    this.#key = key
    this.#token = token
    this.#renewAt = askedAt + host.leaseMs / 3
  }

  /** Renews the claim at a third of its time, with the marks made so far, until `stop`. */
  keepAlive(marks: readonly string[], onLost: () => void): void {
    this.#isKept = true
    const renewAndArm = () => {
      this.renew(marks, onLost)
      arm()
    }
    const arm = () => {
      if (this.#isKept)
        this.#timer = this.#host.clock.setTimeout(renewAndArm, this.#renewAt - this.#host.clock.monotonic())
    }
    arm()
  }

  stop(): void {
    this.#isKept = false
    this.#host.clock.clearTimeout(this.#timer)
  }

  /** @param onLost called where another token holds the key */
  renew(marks: readonly string[], onLost: () => void): void {
    const { store, leaseMs, clock, reporter } = this.#host
    this.#renewAt = clock.monotonic() + leaseMs / 3
    if (this.#isRenewing) return
    this.#isRenewing = true
    callWithin(clock, STORE_LIMIT_MS, 'store.renew', () => store.renew(this.#key, this.#token, leaseMs, [...marks]), {
      onAnswer: (isHeld) => {
        this.#isRenewing = false
        if (isHeld) return
        this.stop()
        onLost()
      },
      onFailure: (cause) => {
        this.#isRenewing = false
        reporter.error(toStoreError('renew', cause, 'it is tried again while the handlers run'))
      },
    })
  }

  complete(limitMs: number, next: Continuations<boolean>): void {
    callWithin(
      this.#host.clock,
      limitMs,
      'store.complete',
      () => this.#host.store.complete(this.#key, this.#token),
      next,
    )
  }

  /** Gives the claim back. Where the store can't be reached that is only reported: the lease ends by itself. */
  release(limitMs: number, marks: readonly string[], then: () => void): void {
    callWithin(
      this.#host.clock,
      limitMs,
      'store.release',
      () => this.#host.store.release(this.#key, this.#token, marks),
      {
        onAnswer: then,
        onFailure: (cause) => {
          this.#host.reporter.error(toStoreError('release', cause, 'the lease ends by itself'))
          then()
        },
      },
    )
  }
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

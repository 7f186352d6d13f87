import { LRUCache } from 'lru-cache'
import { type Clock, systemClock } from '../host/clock.ts'
import type { Logger } from '../host/logger.ts'
import { accountOfKey } from '../protocol/dedup-key.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { DEFAULT_RETENTION_MS } from '../protocol/schedule.ts'
import type { Claim, Store } from './store.ts'

export interface MemoryStoreOptions {
  /** How many done events are remembered at most. Default 100,000, about 14 MB. */
  readonly max?: number
  /** How long each is remembered, in milliseconds. Default 7 days. */
  readonly retentionMs?: number
  /** Default: the machine's monotonic clock. */
  readonly clock?: Pick<Clock, 'monotonic'>
}

export interface MemoryStore extends Store {
  /** Done ids that were forgotten before `retentionMs` because more than `max` came in. A retry of one of those runs again. */
  readonly earlyDrops: number
}

const DONE = 'done'
const CLAIM_DONE: Claim = { state: 'done' }
const CLAIM_BUSY: Claim = { state: 'busy' }
const NO_MARKS: readonly string[] = []
const SWEEP_EVERY = 1_024

interface Lease {
  readonly token: string
  endsAt: number
  marks: readonly string[]
}

/**
 * The store of one process: bounded, fast, and forgotten when the process ends. Claims under way are never dropped to make room;
 * done ids are, oldest first, and each such drop is counted.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new BoundedMemoryStore(checkOptions(options))
}

class BoundedMemoryStore implements MemoryStore {
  readonly retentionMs: number
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #leases = new Map<string, Lease>()
  /** `done`, or the marks of handlers that finished before the others failed. */
  readonly #finished: LRUCache<string, typeof DONE | readonly string[]>
  readonly #loggers = new Set<Logger>()
  #claims = 0
  #earlyDrops = 0

  constructor({ max, retentionMs, clock }: Required<MemoryStoreOptions>) {
    this.retentionMs = retentionMs
    this.#clock = clock
    this.#finished = new LRUCache({
      max,
      ttl: retentionMs,
      // lru-cache takes a start of 0 as "never ends", and would go on with a cached time for a millisecond.
      perf: { now: () => 1 + clock.monotonic() },
      ttlResolution: 0,
      dispose: (_value, key, reason) => {
        if (reason === 'evict') this.#onEvicted(key)
      },
    })
  }

  get earlyDrops(): number {
    return this.#earlyDrops
  }

  reportTo(logger: Logger): void {
    if (this.#loggers.size === 0 && process.env.NODE_ENV === 'production') {
      logger.warn(
        {},
        'memoryStore remembers events for this process only: with several processes, or after a restart, copies of an event run again. Give createReceiver a store that they share.',
      )
    }
    this.#loggers.add(logger)
  }

  claim(key: string, leaseMs: number): Claim {
    const now = this.#clock.monotonic()
    if (++this.#claims % SWEEP_EVERY === 0) this.#sweep(now)
    const lease = this.#leases.get(key)
    if (lease !== undefined && lease.endsAt > now) return CLAIM_BUSY
    const finished = this.#finished.peek(key)
    if (finished === DONE) return CLAIM_DONE
    const marks = union(finished ?? NO_MARKS, lease?.marks ?? NO_MARKS)
    const token = String(this.#claims)
    this.#leases.set(key, { token, endsAt: now + leaseMs, marks })
    return { state: 'claimed', token, marks }
  }

  renew(key: string, token: string, leaseMs: number, marks: readonly string[]): boolean {
    const lease = this.#leases.get(key)
    const endsAt = this.#clock.monotonic() + leaseMs
    if (lease === undefined) {
      if (this.#finished.peek(key) === DONE) return false
      this.#leases.set(key, { token, endsAt, marks })
      return true
    }
    if (lease.token !== token) return false
    lease.endsAt = endsAt
    lease.marks = union(lease.marks, marks)
    return true
  }

  complete(key: string, token: string): boolean {
    if (this.#isHeldByAnother(key, token)) return false
    this.#leases.delete(key)
    this.#finished.set(key, DONE)
    return true
  }

  release(key: string, token: string, marks: readonly string[]): boolean {
    if (this.#isHeldByAnother(key, token)) return false
    const known = this.#leases.get(key)?.marks ?? NO_MARKS
    this.#leases.delete(key)
    this.#keepMarks(key, union(known, marks))
    return true
  }

  #isHeldByAnother(key: string, token: string): boolean {
    const lease = this.#leases.get(key)
    return lease !== undefined && lease.token !== token
  }

  #keepMarks(key: string, marks: readonly string[]): void {
    const finished = this.#finished.peek(key)
    if (marks.length > 0 && finished !== DONE) this.#finished.set(key, union(finished ?? NO_MARKS, marks))
  }

  /** Lets go of leases that ended without a word: their handlers were abandoned, and no retry came for the key since. */
  #sweep(now: number): void {
    for (const [key, lease] of this.#leases) {
      if (lease.endsAt > now) continue
      this.#leases.delete(key)
      this.#keepMarks(key, lease.marks)
    }
  }

  #onEvicted(key: string): void {
    if (this.#finished.getRemainingTTL(key) <= 0) return
    this.#earlyDrops++
    if (this.#earlyDrops > 1) return
    const { account, share } = this.#fullestAccount()
    const who = account === undefined ? 'accounts with unprintable keys fill' : `account "${account}" fills`
    for (const logger of this.#loggers) {
      logger.warn(
        { max: this.#finished.max, accountKey: account, share },
        `memoryStore is full: ids are dropped before their ${Math.round(this.retentionMs / 3_600_000)} h are over, and retries of those events will run again. ${who} ${Math.round(share * 100)} % of it. Raise max, or use a store on an engine. Said once; earlyDrops counts on.`,
      )
    }
  }

  #fullestAccount(): { readonly account: string | undefined; readonly share: number } {
    const counts = new Map<string | undefined, number>()
    for (const key of this.#finished.keys()) {
      const account = accountOfKey(key)
      counts.set(account, (counts.get(account) ?? 0) + 1)
    }
    let [account, most] = [undefined as string | undefined, 0]
    for (const [candidate, count] of counts) if (count > most) [account, most] = [candidate, count]
    return { account, share: most / this.#finished.size }
  }
}

function union(known: readonly string[], more: readonly string[]): readonly string[] {
  if (more.length === 0) return known
  return known.length === 0 ? more : [...new Set([...known, ...more])]
}

function checkOptions(options: MemoryStoreOptions): Required<MemoryStoreOptions> {
  const { max = 100_000, retentionMs = DEFAULT_RETENTION_MS, clock = systemClock, ...unknown } = options
  const [stray] = Object.keys(unknown)
  if (stray !== undefined)
    throw new ConfigurationError(
      'option_unknown',
      `memoryStore has no option "${stray}". It takes max, retentionMs and clock.`,
    )
  if (!Number.isSafeInteger(max) || max < 1)
    throw new ConfigurationError(
      'option_invalid',
      `memoryStore: max is ${max}; give a whole number of events, 1 or more.`,
    )
  if (!Number.isFinite(retentionMs) || retentionMs <= 0)
    throw new ConfigurationError(
      'option_invalid',
      `memoryStore: retentionMs is ${retentionMs}; give a number of milliseconds above 0.`,
    )
  return { max, retentionMs, clock }
}

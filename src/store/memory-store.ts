import { LRUCache } from 'lru-cache'
import { type Clock, systemClock } from '../host/clock.ts'
import type { LogFields, Logger } from '../host/logger.ts'
import { accountOfKey, accountPartOf } from '../protocol/dedup-key.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { DEFAULT_RETENTION_MS } from '../protocol/schedule.ts'
import type { Claim, Store } from './store.ts'

export interface MemoryStoreOptions {
  /** How many events are remembered at most, done or half done. Default 100,000, about 14 MB; at most 10 million. */
  readonly max?: number
  /** How long each is remembered, in milliseconds. Default 7 days. */
  readonly retentionMs?: number
  /** Default: the machine's monotonic clock. */
  readonly clock?: Pick<Clock, 'monotonic'>
}

export interface MemoryStore extends Store {
  /** Ids that were forgotten before `retentionMs` because more than `max` came in. A retry of one of those runs again. */
  readonly earlyDrops: number
}

const DONE = 'done'
const CLAIM_DONE: Claim = { state: 'done' }
const CLAIM_BUSY: Claim = { state: 'busy' }
const NO_MARKS: readonly string[] = []
const SWEEP_EVERY = 1_024
/** A Map takes 2 ** 24 keys at most, and room for all of them is taken at once. */
const MOST = 10_000_000

interface Lease {
  readonly token: string
  readonly endsAt: number
  readonly marks: readonly string[]
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
    if (this.#loggers.size === 0 && process.env.NODE_ENV === 'production')
      warn(
        logger,
        {},
        'memoryStore remembers events for this process only: with several processes, or after a restart, copies of an event run again. Give createReceiver a store that they share.',
      )
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
    if (this.#isHeldByAnother(lease, token) || this.#finished.peek(key) === DONE) return false
    const known = lease?.marks ?? NO_MARKS
    this.#leases.set(key, { token, endsAt: this.#clock.monotonic() + leaseMs, marks: union(known, marks) })
    return true
  }

  complete(key: string, token: string): boolean {
    if (this.#isHeldByAnother(this.#leases.get(key), token)) return false
    this.#leases.delete(key)
    this.#finished.set(key, DONE)
    return true
  }

  release(key: string, token: string, marks: readonly string[]): boolean {
    const lease = this.#leases.get(key)
    if (this.#isHeldByAnother(lease, token)) return false
    this.#leases.delete(key)
    this.#keepMarks(key, union(lease?.marks ?? NO_MARKS, marks))
    return true
  }

  /** A lease that has ended holds nothing, whoever had it last. */
  #isHeldByAnother(lease: Lease | undefined, token: string): boolean {
    return lease !== undefined && lease.token !== token && lease.endsAt > this.#clock.monotonic()
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
    const who =
      account === undefined ? 'One account, whose key is long or not printable ASCII,' : `Account "${account}"`
    for (const logger of this.#loggers)
      warn(
        logger,
        { max: this.#finished.max, accountKey: account, share },
        `memoryStore is full: ids are dropped before their ${this.retentionMs / 3_600_000} h are over, and retries of those events will run again. ${who} fills ${Math.round(share * 100)} % of it. Raise max, or use a store on an engine. Said once; earlyDrops counts on.`,
      )
  }

  #fullestAccount(): { readonly account: string | undefined; readonly share: number } {
    const counts = new Map<string, number>()
    let [fullest, most] = ['', 0]
    for (const key of this.#finished.keys()) {
      const part = accountPartOf(key)
      const count = (counts.get(part) ?? 0) + 1
      counts.set(part, count)
      if (count > most) [fullest, most] = [key, count]
    }
    return { account: accountOfKey(fullest), share: most / this.#finished.size }
  }
}

/** A logger that throws must not fail the call that was under way. */
function warn(logger: Logger, fields: LogFields, message: string): void {
  try {
    logger.warn(fields, message)
  } catch {
    // The receiver tells its owner of broken loggers.
  }
}

/** Never `more` itself, which its caller may change later. */
function union(known: readonly string[], more: readonly string[]): readonly string[] {
  return more.length === 0 ? known : [...new Set([...known, ...more])]
}

function checkOptions(options: MemoryStoreOptions): Required<MemoryStoreOptions> {
  const { max = 100_000, retentionMs = DEFAULT_RETENTION_MS, clock = systemClock, ...unknown } = options
  const [stray] = Object.keys(unknown)
  if (stray !== undefined)
    throw new ConfigurationError(
      'option_unknown',
      `memoryStore has no option "${stray}". It takes max, retentionMs and clock.`,
    )
  if (!Number.isInteger(max) || max < 1 || max > MOST)
    throw invalid(`max is ${String(max)}; give a whole number of events from 1 to ${MOST}.`)
  if (!Number.isSafeInteger(retentionMs) || retentionMs < 1)
    throw invalid(`retentionMs is ${String(retentionMs)}; give a whole number of milliseconds, 1 or more.`)
  if (typeof clock?.monotonic !== 'function')
    throw invalid('clock has no method monotonic(); leave it out for the clock of the machine.')
  return { max, retentionMs, clock }
}

function invalid(message: string): ConfigurationError {
  return new ConfigurationError('option_invalid', `memoryStore: ${message}`)
}

import { LRUCache } from 'lru-cache'
import { type Clock, systemClock } from '../host/clock.ts'
import type { Complete } from '../host/complete.ts'
import type { Logger } from '../host/logger.ts'
import { readNodeEnv } from '../host/node-env.ts'
import { accountOfKey, accountPartOf } from '../protocol/dedup-key.ts'
import { OptionChecker, whole, withMethods } from '../protocol/option-checker.ts'
import { DEFAULT_RETENTION_MS } from '../protocol/schedule.ts'
import type { Claim, Position, Store } from './store.ts'

/** Options of `memoryStore`. */
export type MemoryStoreOptions = {
  /** The most to remember: events, done or half done, and positions of records for handlers with an order. Default 100,000, about 14 MB; at most 10 million. */
  readonly max?: number | undefined
  /** The time for which each is remembered, in milliseconds. Default 7 days. */
  readonly retentionMs?: number | undefined
  /** Default: the machine's monotonic clock. */
  readonly clock?: Pick<Clock, 'monotonic'> | undefined
}

/** A store in the memory of one process. */
export interface MemoryStore extends Store {
  /** Ids that were forgotten before `retentionMs` because more than `max` came in. A retry of one of those runs again. */
  readonly earlyDrops: number
}

const CLAIM_DONE: Claim = { state: 'done' }
const CLAIM_BUSY: Claim = { state: 'busy' }
const NO_MARKS: readonly string[] = []
const SWEEP_EVERY = 1_024
/** A Map takes 2 ** 24 keys at most, and room for all of them is taken at the start. */
const MOST = 10_000_000

/** The rest of an event that nobody holds: until when it counts as done, or the marks of handlers that finished. */
type Finished = number | { readonly until: number; readonly marks: readonly string[] }

interface Place {
  readonly until: number
  readonly at: number
}

interface HeldLease {
  readonly key: string
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
  return new BoundedMemoryStore(checkMemoryOptions(options))
}

class BoundedMemoryStore implements MemoryStore {
  readonly retentionMs: number
  readonly keepsPositions = true
  readonly #clock: Pick<Clock, 'monotonic'>
  /** The last lease that was taken, outside the map: most are given back before the next claim, and two changes of a map cost 4 % of a delivery. */
  #latest: HeldLease | undefined
  readonly #leases = new Map<string, HeldLease>()
  /** Positions share the room of events: a tenant who fills it is counted by either. */
  readonly #finished: LRUCache<string, Finished | Place>
  readonly #loggers = new Set<Logger>()
  #claims = 0
  #earlyDrops = 0

  constructor({ max, retentionMs, clock }: Complete<MemoryStoreOptions>) {
    this.retentionMs = retentionMs
    this.#clock = clock
    // Times are kept as values: lru-cache's own take 16 bytes more an id, and a clock reading at every step.
    this.#finished = new LRUCache({
      max,
      dispose: (finished, _key, reason) => {
        if (reason === 'evict' && untilOf(finished) > clock.monotonic()) this.#onEarlyDrop()
      },
    })
  }

  get earlyDrops(): number {
    return this.#earlyDrops
  }

  reportTo(logger: Logger): void {
    this.#loggers.add(logger)
  }

  claim(key: string, leaseMs: number, positionKeys?: readonly string[]): Claim {
    const now = this.#clock.monotonic()
    if (++this.#claims % SWEEP_EVERY === 0) this.#sweep(now)
    else if (this.#claims === 1) this.#warnOfOneProcess()
    const lease = this.#leaseOf(key)
    if (lease !== undefined && lease.endsAt > now) return CLAIM_BUSY
    const finished = this.#recall(key, now)
    if (typeof finished === 'number') return CLAIM_DONE
    const marks = union(finished?.marks ?? NO_MARKS, lease?.marks ?? NO_MARKS)
    const token = String(this.#claims)
    this.#hold({ key, token, endsAt: now + leaseMs, marks })
    if (positionKeys === undefined) return { state: 'claimed', token, marks }
    return { state: 'claimed', token, marks, positions: positionKeys.map((one) => this.#positionOf(one, now)) }
  }

  renew(
    key: string,
    token: string,
    leaseMs: number,
    marks: readonly string[],
    positions?: readonly Position[],
  ): boolean {
    const now = this.#clock.monotonic()
    this.#keepPositions(positions, now)
    const lease = this.#leaseOf(key)
    if (isHeldByAnother(lease, token, now) || typeof this.#recall(key, now) === 'number') return false
    const known = lease?.marks ?? NO_MARKS
    this.#hold({ key, token, endsAt: now + leaseMs, marks: union(known, marks) })
    return true
  }

  complete(key: string, token: string, positions?: readonly Position[]): boolean {
    const now = this.#clock.monotonic()
    this.#keepPositions(positions, now)
    if (isHeldByAnother(this.#leaseOf(key), token, now)) return false
    this.#letGo(key)
    this.#finished.set(key, this.#untilFrom(now))
    return true
  }

  release(key: string, token: string, marks: readonly string[], positions?: readonly Position[]): boolean {
    const now = this.#clock.monotonic()
    this.#keepPositions(positions, now)
    const lease = this.#leaseOf(key)
    if (isHeldByAnother(lease, token, now)) return false
    this.#letGo(key)
    this.#keepMarks(key, union(lease?.marks ?? NO_MARKS, marks), now)
    return true
  }

  forget(key: string): boolean {
    const now = this.#clock.monotonic()
    const lease = this.#leaseOf(key)
    if (lease !== undefined && lease.endsAt > now) return false
    const isKnown = this.#recall(key, now) !== undefined || (lease !== undefined && lease.marks.length > 0)
    this.#letGo(key)
    this.#finished.delete(key)
    return isKnown
  }

  #leaseOf(key: string): HeldLease | undefined {
    return this.#latest?.key === key ? this.#latest : this.#leases.get(key)
  }

  #hold(lease: HeldLease): void {
    if (this.#latest !== undefined && this.#latest.key !== lease.key) this.#leases.set(this.#latest.key, this.#latest)
    this.#leases.delete(lease.key)
    this.#latest = lease
  }

  #letGo(key: string): void {
    if (this.#latest?.key === key) this.#latest = undefined
    else this.#leases.delete(key)
  }

  #keepPositions(positions: readonly Position[] | undefined, now: number): void {
    for (const { key, at } of positions ?? [])
      if ((this.#positionOf(key, now) ?? at) <= at) this.#finished.set(key, { until: this.#untilFrom(now), at })
  }

  #positionOf(key: string, now: number): number | undefined {
    const place = this.#finished.peek(key)
    return typeof place === 'object' && 'at' in place && place.until >= now ? place.at : undefined
  }

  #recall(key: string, now: number): Finished | undefined {
    const finished = this.#finished.peek(key)
    if (finished === undefined || untilOf(finished) < now) return undefined
    return typeof finished === 'object' && 'at' in finished ? undefined : finished
  }

  #keepMarks(key: string, marks: readonly string[], now: number): void {
    const finished = this.#recall(key, now)
    if (marks.length === 0 || typeof finished === 'number') return
    this.#finished.set(key, { until: this.#untilFrom(now), marks: union(finished?.marks ?? NO_MARKS, marks) })
  }

  /** A whole number, which V8 keeps in the place of a pointer. */
  #untilFrom(now: number): number {
    return Math.ceil(now + this.retentionMs)
  }

  /** Not before the first event: frameworks load the app in their build as well. */
  #warnOfOneProcess(): void {
    if (readNodeEnv() !== 'production') return
    for (const logger of this.#loggers)
      logger.warn(
        {},
        'memoryStore remembers events for this process only: with several processes, or after a restart, duplicates of an event run again. Give createReceiver a store that all processes share.',
      )
  }

  /** Lets go of leases that ended without a word: their handlers were abandoned, and no retry came for the key since. */
  #sweep(now: number): void {
    for (const [key, lease] of this.#leases) {
      if (lease.endsAt > now) continue
      this.#leases.delete(key)
      this.#keepMarks(key, lease.marks, now)
    }
  }

  #onEarlyDrop(): void {
    this.#earlyDrops++
    if (this.#earlyDrops > 1) return
    const { account, share } = this.#fullestAccount()
    const who =
      account === undefined ? 'One account, whose key is long or not printable ASCII,' : `Account "${account}"`
    for (const logger of this.#loggers)
      logger.warn(
        { max: this.#finished.max, accountKey: account, share },
        `memoryStore is full: ids are dropped before their ${this.retentionMs / 3_600_000} h are over, and retries of those events will run again. ${who} fills ${Math.round(share * 100)} % of it. Raise max, or use a store on an engine. This is logged once; earlyDrops counts on.`,
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

function untilOf(finished: Finished | Place): number {
  return typeof finished === 'number' ? finished : finished.until
}

function isHeldByAnother(lease: HeldLease | undefined, token: string, now: number): boolean {
  return lease !== undefined && lease.token !== token && lease.endsAt > now
}

/** Never `more` itself, which its caller may change later. */
function union(known: readonly string[], more: readonly string[]): readonly string[] {
  return more.length === 0 ? known : [...new Set([...known, ...more])]
}

function checkMemoryOptions(options: MemoryStoreOptions): Complete<MemoryStoreOptions> {
  new OptionChecker('memoryStore').mustFit(options, {
    max: whole(1, MOST, 'events'),
    retentionMs: whole(1, Number.MAX_SAFE_INTEGER, 'milliseconds'),
    clock: withMethods('monotonic'),
  })
  const { max = 100_000, retentionMs = DEFAULT_RETENTION_MS, clock = systemClock } = options
  return { max, retentionMs, clock }
}

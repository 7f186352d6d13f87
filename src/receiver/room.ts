import type { ReceiverSettings } from './options.ts'

/** An account may hold this many times what is left: of 1,000 places, one alone gets 800 and the next 160. */
const SHARE_OF_LEFT = 4
/** Part of `maxBufferedBytes` for events under way. A byte that is parsed can take 50 bytes of heap, as in `{"34":{"34":…`, which makes arrays of 35 places. */
const PART_FOR_EVENTS = 1 / 4
/** Part of that which accounts share for all but the largest event of each. */
const SHARED_PART = 1 / 2
/** Part of that which the largest event of an account counts at most: else an event with many handlers would be refused for ever. */
const MOST_FOR_LARGEST = 1 / 6
/** Part of that up to which an event is small: small ones also find room beside the large ones of other accounts. */
const MOST_FOR_SMALL = 1 / 64

/** An event that needs room. */
interface Load {
  readonly accountKey: string
  /** Bytes of its text, once for each copy; 0 for an event that the app made. */
  readonly bytes: number
}

/** Events of an account that are under way. */
interface Held {
  readonly loads: number[]
  sum: number
  largest: number
}

const NOTHING: Readonly<Held> = { loads: [], sum: 0, largest: 0 }

/**
 * The room for events under way: places, and bytes. The largest event of each account counts apart from the others, which accounts share.
 * So a large event needs no more room than one as large as the largest that it joins, and takes none from the small ones.
 */
export class Room {
  readonly #places: number
  readonly #bytes: number
  #count = 0
  /** Bytes of all events but the largest of each account. */
  #shared = 0
  /** Bytes that count for the largest event of each account. */
  #apart = 0
  readonly #byAccount = new Map<string, Held>()

  constructor({ maxInFlight, maxBufferedBytes }: Pick<ReceiverSettings, 'maxInFlight' | 'maxBufferedBytes'>) {
    this.#places = maxInFlight
    this.#bytes = maxBufferedBytes * PART_FOR_EVENTS
  }

  /** Returns why an event has no room, and what its owner can do; undefined if it has. */
  whyNone({ accountKey, bytes }: Load): string | undefined {
    const held = this.#byAccount.get(accountKey) ?? NOTHING
    if (!this.#hasPlace(held.loads.length))
      return `${this.#count} events are under way, ${held.loads.length} of its account: maxInFlight (${this.#places}) allows no more, and an account no more than four fifths of it. Make the handlers faster, or raise maxInFlight.`
    if (bytes === 0 || this.#hasBytes(held, bytes)) return undefined
    return `The event needs ${bytes} bytes (its length × its handlers, and once more for a schema), ${held.sum} are in use by its account and ${this.#shared + this.#apart} by all. A quarter of maxBufferedBytes (${this.#bytes / PART_FOR_EVENTS}) allows no more. Make the handlers faster or fewer, or raise maxBufferedBytes.`
  }

  #hasPlace(held: number): boolean {
    // The last of several places is for another account.
    if (held > 0 && held === this.#count && held === this.#places - 1) return false
    return held < SHARE_OF_LEFT * (this.#places - this.#count)
  }

  #hasBytes({ sum, largest }: Readonly<Held>, bytes: number): boolean {
    const more = Math.min(bytes, largest)
    const apart = this.#apart - this.#toApart(largest) + this.#toApart(Math.max(bytes, largest))
    const shared = this.#shared + more
    if (shared + apart > this.#bytes) return false
    if (bytes > this.#bytes * MOST_FOR_SMALL && apart > this.#bytes * (1 - SHARED_PART)) return false
    // Twice, so that large events leave room for small ones.
    return sum - largest + 2 * more <= SHARE_OF_LEFT * (this.#bytes * SHARED_PART - shared - more)
  }

  add({ accountKey, bytes }: Load): void {
    const held = this.#byAccount.get(accountKey) ?? { loads: [], sum: 0, largest: 0 }
    this.#byAccount.set(accountKey, held)
    held.loads.push(bytes)
    this.#count++
    this.#change(held, bytes, Math.max(held.largest, bytes))
  }

  remove({ accountKey, bytes }: Load): void {
    const held = this.#byAccount.get(accountKey)
    if (held === undefined) return
    const { loads, largest } = held
    loads.splice(loads.indexOf(bytes), 1)
    this.#count--
    this.#change(held, -bytes, bytes < largest ? largest : loads.reduce((most, other) => Math.max(most, other), 0))
    if (loads.length === 0) this.#byAccount.delete(accountKey)
  }

  #change(held: Held, more: number, largest: number): void {
    this.#shared += more - largest + held.largest
    this.#apart += this.#toApart(largest) - this.#toApart(held.largest)
    held.sum += more
    held.largest = largest
  }

  #toApart(largest: number): number {
    return Math.min(largest, Math.floor(this.#bytes * MOST_FOR_LARGEST))
  }
}

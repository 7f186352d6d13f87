import { STORE_LIMIT_MS, systemClock } from '../../../src/engine.ts'
import { MOST_BYTES } from '../inbox-lines.ts'
import { NoAnswer, sqlStateOf } from './pool.ts'

interface Waiting<Item, Answer> {
  readonly item: Item
  readonly since: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
  /** The earliest time for another try, if the item was deferred. */
  notBefore?: number
}

export interface GroupsOptions<Item, Answer> {
  /** Returns the bytes that an item takes in its statement. Default: next to none. */
  readonly sizeOf?: (item: Item) => number
  /** Returns the lane that the item locks, or an empty text. */
  readonly laneOf?: (item: Item) => string
  /** Runs a group and returns an answer for each item, in order; `undefined` defers the item. */
  readonly run: (items: readonly Item[]) => Promise<readonly (Answer | undefined)[]>
  readonly toError: (cause: unknown) => unknown
  /** Called with items that were rejected although the engine may have processed them. */
  readonly onNoAnswer?: (items: readonly Item[]) => void
  /** The number of groups that may run concurrently if the earlier ones have no answer yet. Default 1. */
  readonly most?: number
}

const LARGEST_GROUP = 500
/** The lanes of a group: the server has room for some thousands of locks. */
const MOST_LANES = 128
/** An item that its caller has given up is not sent: otherwise they would pile up on an engine that hangs. */
const LONGEST_WAIT_MS = STORE_LIMIT_MS
/** A group without an answer after this time does not delay the next one. */
const STUCK_AFTER_MS = 500
const LOOK_EVERY_MS = 50
/** SQLSTATE classes of errors that one item can cause for its group, and of conflicts between two groups. */
const BY_ONE_ITEM = /^(?:22|23|40|54|55000)/

/**
 * Runs calls in groups, one group at a time: calls that arrive while one is under way wait, and go together in the next. A group contains a
 * key once. If a single item may have caused a group's failure, the group is run again item by item.
 */
export class Groups<Item extends { readonly key: string }, Answer> {
  readonly #options: GroupsOptions<Item, Answer>
  #waiting: Waiting<Item, Answer>[] = []
  /** The groups under way, by their start. */
  readonly #underWay = new Set<{ readonly since: number }>()
  #isCalled = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: GroupsOptions<Item, Answer>) {
    this.#options = options
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, since: systemClock.monotonic(), resolve, reject })
      this.#start()
    })
  }

  /** Starts in a microtask, so that calls of one turn go together. */
  #start(): void {
    if (this.#isCalled) return
    if (!this.#mayBegin) return this.#watch()
    this.#isCalled = true
    queueMicrotask(() => {
      this.#isCalled = false
      const group = this.#take()
      if (group.length > 0) void this.#send(group)
      else this.#watch()
    })
  }

  get #mayBegin(): boolean {
    if (this.#underWay.size === 0) return true
    const longAgo = systemClock.monotonic() - STUCK_AFTER_MS
    return this.#underWay.size < (this.#options.most ?? 1) && [...this.#underWay].every(({ since }) => since <= longAgo)
  }

  async #send(group: readonly Waiting<Item, Answer>[]): Promise<void> {
    const begun = { since: systemClock.monotonic() }
    this.#underWay.add(begun)
    await this.#run(group)
    this.#underWay.delete(begun)
    if (this.#waiting.length > 0) this.#start()
  }

  async #run(group: readonly Waiting<Item, Answer>[]): Promise<void> {
    try {
      this.#answer(group, await this.#options.run(group.map(({ item }) => item)))
    } catch (error) {
      if (group.length === 1 || !BY_ONE_ITEM.test(sqlStateOf(error) ?? '')) this.#fail(group, error)
      else for (const one of group) await this.#run([one])
    }
  }

  /** Deferred items stay ahead of later items for their key. */
  #answer(group: readonly Waiting<Item, Answer>[], answers: readonly (Answer | undefined)[]): void {
    const putOff = group.filter((waiting, index) => {
      const answer = answers[index]
      if (answer === undefined) return true
      waiting.resolve(answer)
      return false
    })
    if (putOff.length === 0) return
    for (const waiting of putOff) waiting.notBefore = systemClock.monotonic() + LOOK_EVERY_MS
    this.#waiting = [...putOff, ...this.#waiting]
    this.#watch()
  }

  #fail(group: readonly Waiting<Item, Answer>[], error: unknown): void {
    if (error instanceof NoAnswer) this.#options.onNoAnswer?.(group.map(({ item }) => item))
    this.#refuse(group, error)
  }

  #take(): readonly Waiting<Item, Answer>[] {
    const now = systemClock.monotonic()
    const keys = new Set<string>()
    const group: Waiting<Item, Answer>[] = []
    const rest: Waiting<Item, Answer>[] = []
    const lanes = new Set<string>()
    let bytes = 0
    for (const waiting of this.#waiting) {
      const { item, notBefore = now } = waiting
      const isFull = group.length === LARGEST_GROUP || bytes >= MOST_BYTES || lanes.size > MOST_LANES
      if (isFull || keys.has(item.key) || notBefore > now) rest.push(waiting)
      else {
        group.push(waiting)
        bytes += this.#options.sizeOf?.(item) ?? 0
        lanes.add(this.#options.laneOf?.(item) ?? '')
      }
      keys.add(item.key)
    }
    this.#waiting = rest
    return group
  }

  /** Checks the waiting items while nothing moves, and the deferred ones. */
  #watch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      const longAgo = systemClock.monotonic() - LONGEST_WAIT_MS
      const tooLate = this.#waiting.filter(({ since }) => since <= longAgo)
      if (tooLate.length > 0) this.#waiting = this.#waiting.filter(({ since }) => since > longAgo)
      this.#refuse(
        tooLate,
        new Error(`Postgres did not run it within ${LONGEST_WAIT_MS} ms: it hangs, or the row is locked`),
      )
      if (this.#waiting.length > 0) this.#start()
    }, LOOK_EVERY_MS).unref()
  }

  #refuse(group: readonly Waiting<Item, Answer>[], cause: unknown): void {
    if (group.length === 0) return
    const error = this.#options.toError(cause)
    for (const { reject } of group) reject(error)
  }
}

interface Waiting<Item, Answer> {
  readonly item: Item
  readonly since: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

export interface GroupsOptions<Item, Answer> {
  /** Carries out a group and gives an answer for each item, in order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Answer[]>
  readonly toError: (cause: unknown) => unknown
}

const LARGEST_GROUP = 500
/** Receivers give up after this time; what nobody waits for any more is not sent, or an engine that hangs would be buried in it. */
const LONGEST_WAIT_MS = 3_000
/** SQLSTATE classes of what one item can bring upon its group: bad data, a constraint, a limit; and of two groups that met. */
const BY_ONE_ITEM = /^(?:22|23|40|54)/

/**
 * Carries calls out in groups, one at a time: what comes while one is under way waits, and goes together in the next. A group holds a
 * key once. One that fails by what may be the fault of a single item is carried out again item by item.
 */
export class Groups<Item extends { readonly key: string }, Answer> {
  readonly #options: GroupsOptions<Item, Answer>
  #waiting: Waiting<Item, Answer>[] = []
  #isUnderWay = false
  #isCalled = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: GroupsOptions<Item, Answer>) {
    this.#options = options
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, since: performance.now(), resolve, reject })
      this.#start()
    })
  }

  /** In a microtask: calls of one turn go together. */
  #start(): void {
    if (this.#isCalled) return
    if (this.#isUnderWay) return this.#watch()
    this.#isCalled = true
    queueMicrotask(() => {
      this.#isCalled = false
      this.#send(this.#take())
    })
  }

  async #send(group: readonly Waiting<Item, Answer>[]): Promise<void> {
    this.#isUnderWay = true
    try {
      answer(group, await this.#options.run(group.map(({ item }) => item)))
    } catch (error) {
      if (group.length > 1 && isByOneItem(error)) await this.#sendEach(group)
      else this.#refuse(group, error)
    }
    this.#isUnderWay = false
    if (this.#waiting.length > 0) this.#start()
  }

  async #sendEach(group: readonly Waiting<Item, Answer>[]): Promise<void> {
    for (const one of group)
      try {
        answer([one], await this.#options.run([one.item]))
      } catch (error) {
        this.#refuse([one], error)
      }
  }

  #take(): readonly Waiting<Item, Answer>[] {
    const keys = new Set<string>()
    const group: Waiting<Item, Answer>[] = []
    const rest: Waiting<Item, Answer>[] = []
    for (const waiting of this.#waiting) {
      const { key } = waiting.item
      if (group.length === LARGEST_GROUP || keys.has(key)) rest.push(waiting)
      else {
        keys.add(key)
        group.push(waiting)
      }
    }
    this.#waiting = rest
    return group
  }

  /** Looks after those who wait while nothing moves. */
  #watch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      const longAgo = performance.now() - LONGEST_WAIT_MS
      const tooLate = this.#waiting.filter(({ since }) => since <= longAgo)
      if (tooLate.length > 0) this.#waiting = this.#waiting.filter(({ since }) => since > longAgo)
      this.#refuse(tooLate, new Error(`Postgres has not answered for ${LONGEST_WAIT_MS} ms`))
      if (this.#waiting.length > 0) this.#watch()
    }, LONGEST_WAIT_MS / 3).unref()
  }

  #refuse(group: readonly Waiting<Item, Answer>[], cause: unknown): void {
    if (group.length === 0) return
    const error = this.#options.toError(cause)
    for (const { reject } of group) reject(error)
  }
}

function answer<Answer>(group: readonly Waiting<unknown, Answer>[], answers: readonly Answer[]): void {
  for (const [index, { resolve }] of group.entries()) resolve(answers[index] as Answer) // one for each
}

function isByOneItem(error: unknown): boolean {
  return error instanceof Error && 'code' in error && BY_ONE_ITEM.test(String(error.code))
}

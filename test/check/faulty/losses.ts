import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type Event, HandWritten } from './hand-written.ts'

// Receivers that acknowledge events whose work they never do, or do again.

/** Makes a receiver that acknowledges such an event, and drops it. */
const losing = (isLost: (event: Event) => boolean) =>
  class extends HandWritten {
    override async handle(event: Event): Promise<Answer> {
      return isLost(event) ? { status: 200 } : super.handle(event)
    }
  }

const textsOf = ({ data }: Event) => Object.values(data?.record ?? {}).filter((value) => typeof value === 'string')

/** Its parser stops at 100 kB, and its error handler answers 200. */
export const LosesLargeBodies = losing((event) => JSON.stringify(event).length > 100_000)

export const LosesNullCharacters = losing((event) => textsOf(event).some((text) => text.includes('\u0000')))

export const LosesLongText = losing((event) => textsOf(event).some((text) => text.length > 255))

/** Inserts contacts with ON CONFLICT DO NOTHING, and its unique key is the address. */
export class LosesKnownAddresses extends HandWritten {
  readonly #owners = new Map<unknown, unknown>()

  override async handle(event: Event): Promise<Answer> {
    const { email, _id } = event.data?.record ?? {}
    const owner = this.#owners.get(email) ?? _id
    if (email !== undefined && email !== '') this.#owners.set(email, owner)
    return owner === _id ? super.handle(event) : { status: 200 }
  }
}

/** Its pool takes 25 tasks, and drops the others. */
export class LosesWhatIsTooMuch extends HandWritten {
  #tasks = 0
  #arrived = 0

  override async handle(event: Event): Promise<Answer> {
    this.#arrived++
    if (this.#tasks >= 25) return { status: 200 }
    this.#tasks++
    // Takes as long as others arrive, on a slow machine too.
    for (let before = 0; before < this.#arrived; await sleep(300)) before = this.#arrived
    return super.handle(event).finally(() => this.#tasks--)
  }
}

const isContact = ({ type }: Event) => type === 'contact.created'

export class AcksFailuresOfOtherTypes extends HandWritten {
  override async handle(event: Event): Promise<Answer> {
    return super.handle(event).catch((error) => {
      if (isContact(event)) throw error
      return { status: 200 }
    })
  }
}

export class DedupesContactsOnly extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    return isContact(event) ? super.receive(event) : this.handle(event)
  }
}

export class ForgetsFailuresOfOtherTypes extends HandWritten {
  override async handle(event: Event): Promise<Answer> {
    if (!isContact(event)) this.note(event)
    return super.handle(event)
  }
}

/** Counts failures, and acknowledges what fails again: its list of dead letters is never read. */
export class AcksSecondFailures extends HandWritten {
  readonly #failed = new Set<string>()

  override async handle(event: Event): Promise<Answer> {
    return super.handle(event).catch((error) => {
      if (this.#failed.has(event.id)) return { status: 200 }
      this.#failed.add(event.id)
      throw error
    })
  }
}

/** Tries twice, and acknowledges the result, whatever it is. */
export class AcksAfterTwoTries extends HandWritten {
  override async handle(event: Event): Promise<Answer> {
    return super
      .handle(event)
      .catch(() => super.handle(event))
      .catch(() => ({ status: 200 }))
  }
}

/** Acknowledges, and tries again once, later. */
export class TriesOnceMore extends HandWritten {
  override async handle(event: Event): Promise<Answer> {
    super
      .handle(event)
      .catch(() => sleep(300).then(() => super.handle(event)))
      .catch(() => {})
    return { status: 202 }
  }
}

/** Notes the id, tries twice, and answers 500: the next delivery is a duplicate for it. */
export class KnowsWhatFailedTwice extends HandWritten {
  override async handle(event: Event): Promise<Answer> {
    return super.handle(event).catch(() => {
      this.note(event)
      return super.handle(event)
    })
  }
}

export class DropsUpdates extends HandWritten {
  override async work(event: Event): Promise<void> {
    if (!event.type.endsWith('.updated')) await super.work(event)
  }
}

/** Makes a receiver that acknowledges and drops an event of a record that, by this comparison, is no newer than the last one. */
const guarding = (isOld: (timestamp: string, last: string) => boolean) =>
  class extends HandWritten {
    readonly #last = new Map<unknown, string>()

    override async handle(event: Event): Promise<Answer> {
      const { _id } = event.data?.record ?? {}
      const last = this.#last.get(_id)
      if (last !== undefined && isOld(event.timestamp, last)) return { status: 200 }
      const answer = await super.handle(event)
      if (_id !== undefined) this.#last.set(_id, event.timestamp)
      return answer
    }
  }

const secondOf = (timestamp: string) => timestamp.slice(0, '2025-01-01T00:00:00'.length)

export const TakesEqualTimesForOld = guarding((timestamp, last) => Date.parse(timestamp) <= Date.parse(last))
export const ComparesTimesAsText = guarding((timestamp, last) => timestamp < last)
export const StoresWholeSeconds = guarding((timestamp, last) => secondOf(timestamp) <= secondOf(last))
export const DropsOffsets = guarding((timestamp, last) => secondOf(timestamp) < secondOf(last))

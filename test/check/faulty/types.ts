import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type Event, HandWritten } from './hand-written.ts'

// Receivers whose code for some types is worse than that for new contacts.

/** Makes a receiver that answers so to duplicates of such types. */
const repeating = (isAffected: (type: string) => boolean, status: number) =>
  class extends HandWritten {
    override async receive(event: Event): Promise<Answer> {
      return this.isDone(event) && isAffected(event.type) ? { status } : super.receive(event)
    }
  }

export const FailsAtRepeatedPayments = repeating((type) => type.startsWith('finance.'), 500)
export const RefusesRepeatedDeletions = repeating((type) => type === 'contact.deleted', 409)
export const FailsAtRepeatedUpdatesOfOthers = repeating((type) => type === 'financeInvoice.updated', 500)
export const RefusesRepeatedUnknownTypes = repeating((type) => type === 'check.unheard.of', 400)

/** Its code for payments looks an id up, and inserts it under a unique key when the work is done. */
export class FailsAtConcurrentPayments extends HandWritten {
  readonly #ids = new Set<string>()

  override async receive(event: Event): Promise<Answer> {
    if (!event.type.startsWith('finance.')) return super.receive(event)
    if (this.#ids.has(event.id)) return { status: 200 }
    await sleep(20)
    if (this.#ids.has(event.id)) return { status: 500 }
    this.#ids.add(event.id)
    return super.receive(event)
  }
}

/** Makes a receiver that fails at such a type. */
const failing = (isAffected: (type: string) => boolean) =>
  class extends HandWritten {
    override async handle(event: Event): Promise<Answer> {
      return isAffected(event.type) ? { status: 500 } : super.handle(event)
    }
  }

export const FailsAtDeletedOpportunities = failing((type) => type === 'opportunity.deleted')
export const FailsAtUpdatedInvoices = failing((type) => type === 'financeInvoice.updated')
export const FailsAtDeletionsOfUnknownModels = failing((type) =>
  /^(?!contact|opportunity|financeInvoice).*\.deleted$/.test(type),
)

/** Drops every third event. */
export class LosesEveryThird extends HandWritten {
  #count = 0

  override async handle(event: Event): Promise<Answer> {
    return ++this.#count % 3 === 0 ? { status: 200 } : super.handle(event)
  }
}

/** Drops every second event of new contacts. */
export class LosesEverySecondContact extends HandWritten {
  #count = 0

  override async handle(event: Event): Promise<Answer> {
    if (event.type === 'contact.created' && ++this.#count % 2 === 0) return { status: 200 }
    return super.handle(event)
  }
}

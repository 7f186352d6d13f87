import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type Event, HandWritten } from './hand-written.ts'

// Receivers that fail many checks for one cause, which the diagnosis names.

/** Makes a receiver that answers nothing but 403 for this time after so many forgeries. */
const lockingOut = (forgeries: number, ms: number) =>
  class extends HandWritten {
    #forgeries = 0
    #until = 0

    override async answer(request: IncomingMessage): Promise<Answer> {
      if (Date.now() < this.#until) {
        await this.read(request)
        return { status: 403 }
      }
      const answer = await super.answer(request)
      if (answer.status === 401 && ++this.#forgeries % forgeries === 0) this.#until = Date.now() + ms
      return answer
    }
  }

export const LocksOut = lockingOut(20, Number.POSITIVE_INFINITY)
export const LocksOutForATime = lockingOut(20, 600)

/** Makes a receiver that answers so, without doing anything, once work has failed so often. */
const breaking = (failures: number, answer: Answer, ms: number) =>
  class extends HandWritten {
    #failures = 0
    #until = 0

    override async handle(event: Event): Promise<Answer> {
      if (Date.now() < this.#until) return answer
      return super.handle(event).catch((error) => {
        if (++this.#failures % failures === 0) this.#until = Date.now() + ms
        throw error
      })
    }
  }

export const AcksForEverAfterFailures = breaking(3, { status: 200 }, Number.POSITIVE_INFINITY)
export const NeverRecovers = breaking(1, { status: 503 }, Number.POSITIVE_INFINITY)

/** Its circuit breaker opens after ten failures in a row, for five minutes. */
export class OpensForMinutes extends HandWritten {
  readonly openMs: number = 300_000
  #failuresInARow = 0
  #until = 0

  refuseWhileOpen(): Answer {
    return { status: 503 }
  }

  override async handle(event: Event): Promise<Answer> {
    if (Date.now() < this.#until) return this.refuseWhileOpen()
    try {
      const answer = await super.handle(event)
      this.#failuresInARow = 0
      return answer
    } catch (error) {
      if (++this.#failuresInARow >= 10) this.#until = Date.now() + this.openMs
      throw error
    }
  }
}

/** Each event takes one of thirty places and keeps it; without one, it asks for a moment. */
export class KeepsPlaces extends HandWritten {
  #free = 30

  override async handle(event: Event): Promise<Answer> {
    if (this.#free === 0) return { status: 503, headers: { 'retry-after': '1' } }
    this.#free--
    return super.handle(event)
  }
}

/** Recognizes duplicates by a part of the event. */
const keyed = (toKey: (event: Event) => string) =>
  class extends HandWritten {
    override keyOf(event: Event): string {
      return toKey(event)
    }
  }

export const ComparesStartsOfIds = keyed(({ id }) => id.slice(0, 16))
export const DedupesByTypeAndTime = keyed(({ type, timestamp }) => type + timestamp)

/** Handles the first part of a body that it gets. */
export class ReadsFirstPart extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      request
        .once('data', resolve)
        .once('end', () => resolve(Buffer.alloc(0)))
        .once('error', reject)
    })
  }
}

/** Its queue takes ten events, and drops the others. */
export class DropsWhatItsQueueCannotTake extends HandWritten {
  #queued = 0
  #last: Promise<unknown> = Promise.resolve()

  override async handle(event: Event): Promise<Answer> {
    if (this.#queued >= 10) return { status: 200 }
    this.#queued++
    const work = () => super.handle(event).finally(() => this.#queued--)
    const done = this.#last.then(() => sleep(5)).then(work)
    this.#last = done.catch(() => {})
    return done
  }
}

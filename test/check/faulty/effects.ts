import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type Event, HandWritten } from './hand-written.ts'
import { OpensForMinutes } from './states.ts'

export const RefusesAfterFailures = OpensForMinutes

export class DedupesByRecord extends HandWritten {
  override keyOf(event: Event): string {
    return String(event.data?.record?._id ?? event.id)
  }
}

/** Makes a receiver that recognizes duplicates by the record and so many characters of the time. */
const byRecordAndTime = (length: number, ofType = '') =>
  class extends HandWritten {
    override keyOf({ id, type, timestamp, data }: Event): string {
      const record = data?.record?._id
      return record === undefined ? id : `${ofType && type} ${record} ${timestamp.slice(0, length)}`
    }
  }

export const DedupesByRecordAndSecond = byRecordAndTime('2025-01-01T00:00:00'.length)
export const DedupesByRecordAndMinute = byRecordAndTime('2025-01-01T00:00'.length)
export const DedupesByTypeRecordAndSecond = byRecordAndTime('2025-01-01T00:00:00'.length, 'with the type')

/** Recognizes duplicates by what a record contains. */
export class DedupesByContent extends HandWritten {
  override keyOf({ id, type, data }: Event): string {
    return data?.record === undefined ? id : type + JSON.stringify(data.record)
  }
}

export class DedupesByBody extends HandWritten {
  readonly #keys = new WeakMap<Event, string>()

  override parse(body: Buffer): Event | undefined {
    const event = super.parse(body)
    if (typeof event === 'object') this.#keys.set(event, createHash('sha256').update(body).digest('hex'))
    return event
  }

  override keyOf(event: Event): string {
    return this.#keys.get(event) ?? event.id
  }
}

export class DedupesByIdAndTime extends HandWritten {
  override keyOf({ id, timestamp }: Event): string {
    return `${id} ${timestamp}`
  }
}

/** Its list holds a hundred ids. */
export class RemembersHundredEvents extends HandWritten {
  readonly most: number = 100
  readonly #last: string[] = []

  override isDone({ id }: Event): boolean {
    return this.#last.includes(id)
  }

  override note({ id }: Event): void {
    this.#last.push(id)
    if (this.#last.length > this.most) this.#last.shift()
  }
}

/** Its worker handles ten deliveries a second, no matter of which events. */
export class QueueWithoutDedup extends HandWritten {
  #last: Promise<unknown> = Promise.resolve()

  override async receive(event: Event): Promise<Answer> {
    const work = (): Promise<void> => this.work(event).catch(work)
    this.#last = this.#last.then(() => sleep(100)).then(work)
    return { status: 202 }
  }
}

/** The refused event is already in the queue. */
export class QueuesBeforeCheck extends HandWritten {
  readonly #queued = new Set<string>()

  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const event = this.parse(body)
    if (event !== undefined && !this.#queued.has(event.id)) {
      this.#queued.add(event.id)
      const work = (): Promise<void> => this.work(event).catch(work)
      sleep(800).then(work)
    }
    return super.isGenuine(body, request)
  }

  override async receive(): Promise<Answer> {
    return { status: 202 }
  }
}

/** Blames a failure on the sender, and never accepts the event again. */
export class RefusesWhatFailed extends HandWritten {
  readonly #refused = new Set<string>()

  override async handle(event: Event): Promise<Answer> {
    if (this.#refused.has(event.id)) return { status: 409 }
    return super.handle(event).catch(() => {
      this.#refused.add(event.id)
      return { status: 422 }
    })
  }
}

/** Assigns an id to its first sender, with a signature or not. */
export class NotesBeforeCheck extends HandWritten {
  readonly #known = new Set<string>()

  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const event = this.parse(body)
    const isGenuine = super.isGenuine(body, request)
    if (!isGenuine && event !== undefined) this.#known.add(event.id)
    return isGenuine
  }

  override isDone(event: Event): boolean {
    return this.#known.has(event.id) || super.isDone(event)
  }
}

/** Claims the id, and releases it if the work fails, which takes until seven duplicates have come, or 2 s; these are acknowledged. */
export class AcksRunningCopies extends HandWritten {
  readonly #claimed = new Map<string, () => void>()

  override async receive(event: Event): Promise<Answer> {
    const count = this.#claimed.get(event.id)
    count?.()
    if (count !== undefined) return this.onDuplicate()
    let duplicates = 0
    const acknowledged = new Promise<void>((resolve) => {
      this.#claimed.set(event.id, () => {
        if (++duplicates === 7) resolve()
      })
    })
    return this.handle(event).catch(async (error) => {
      await Promise.race([acknowledged, sleep(2_000)])
      this.#claimed.delete(event.id)
      throw error
    })
  }
}

/** All requests share one variable. */
export class SharesAVariable extends HandWritten {
  #event: Event | undefined

  override async receive(event: Event): Promise<Answer> {
    this.#event = event
    await sleep(100) // simulates a database query
    return super.receive(this.#event)
  }
}

/** Looks for the ids of recent events only. */
export class ForgetsOldEvents extends HandWritten {
  override isDone(event: Event): boolean {
    return Date.now() - Date.parse(event.timestamp) < 3_600_000 && super.isDone(event)
  }
}

/** Ends its work with the connection, and knows the id then. */
export class WorksForOpenConnections extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    const body = await this.read(request)
    const event = this.isGenuine(body, request) ? this.parse(body) : undefined
    if (event === undefined) return this.refuse(body)
    if (this.isDone(event)) return this.onDuplicate()
    this.note(event)
    await sleep(20) // simulates a database query
    if (!request.socket.destroyed) await this.work(event)
    return { status: 200 }
  }
}

/** Does the work again if its answer could not be sent. */
export class ForgetsWhatItCannotAnswer extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    const body = await this.read(request)
    const event = this.isGenuine(body, request) ? this.parse(body) : undefined
    if (event === undefined) return this.refuse(body)
    if (this.isDone(event)) return this.onDuplicate()
    await sleep(20) // simulates a database query
    await this.work(event)
    if (!request.socket.destroyed) this.note(event)
    return { status: 200 }
  }
}

/** Holds a lock on an event that failed once, for ever. */
export class NeverReleases extends HandWritten {
  readonly #locked = new Set<string>()

  override async handle(event: Event): Promise<Answer> {
    if (this.#locked.has(event.id)) return new Promise(() => {})
    return super.handle(event).catch(() => {
      this.#locked.add(event.id)
      return { status: 500 }
    })
  }
}

/** Takes the id out of its list when it finds it there. */
export class ForgetsWithTheDuplicate extends HandWritten {
  readonly #known = new Set<string>()

  override isDone({ id }: Event): boolean {
    return this.#known.delete(id)
  }

  override note({ id }: Event): void {
    this.#known.add(id)
  }
}

/** Keeps ids for a second. */
export class ForgetsSoon extends HandWritten {
  readonly #doneAt = new Map<string, number>()

  override isDone({ id }: Event): boolean {
    return Date.now() - (this.#doneAt.get(id) ?? 0) < 1_000
  }

  override note({ id }: Event): void {
    this.#doneAt.set(id, Date.now())
  }
}

/** Drops changes of a record that follow its last work within a second. */
export class DropsQuickChanges extends HandWritten {
  readonly #doneAt = new Map<unknown, number>()

  override async work(event: Event): Promise<void> {
    const record = event.data?.record?._id ?? event.id
    if (Date.now() - (this.#doneAt.get(record) ?? 0) < 1_000) return
    await super.work(event)
    this.#doneAt.set(record, Date.now())
  }
}

/** Its list holds so many ids that the duplicate of one check is in it. */
export class RemembersFiveHundredEvents extends RemembersHundredEvents {
  override readonly most: number = 500
}

/** Four workers take the deliveries in turn, and each remembers what it has done itself. */
export class RemembersPerWorker extends HandWritten {
  readonly #memories = Array.from({ length: 4 }, () => new Map<string, Promise<Answer>>())
  #turn = 0

  override async receive(event: Event): Promise<Answer> {
    const memory = this.#memories[this.#turn++ % 4]
    const answer = memory?.get(event.id) ?? this.handle(event)
    memory?.set(event.id, answer)
    return answer.catch((error) => {
      memory?.delete(event.id)
      throw error
    })
  }
}

/** Its claim ends before its work does. */
export class ClaimsForAMoment extends HandWritten {
  readonly #claims = new Map<string, number>()

  override async receive(event: Event): Promise<Answer> {
    if (this.isDone(event)) return this.onDuplicate()
    const claimedAt = this.#claims.get(event.id) ?? 0
    if (Date.now() - claimedAt < 200) return { status: 503 }
    this.#claims.set(event.id, Date.now())
    await sleep(700)
    return this.handle(event)
  }
}

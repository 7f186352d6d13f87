import type { Clock, InboxEntry, InboxTable, Logger, Settlement, Taken, TakeRequest } from '../../../src/engine.ts'
import { DAY_MS, SWEEP_MS, warnOfDropped } from '../dead-letters.ts'
import { resultCodeOf } from './faults.ts'
import type { SqliteInboxTable } from './inbox-table.ts'
import type { Writer } from './writer.ts'

/** The wall clock was set if it moved by more than this against the monotonic one, in milliseconds. */
const MOST_DRIFT_MS = 1_000
/** The wall clock was set so far ahead that dead letters may seem old, in milliseconds. */
const LARGE_JUMP_MS = 60_000

interface Parts extends Pick<InboxTable, 'onPut'> {
  readonly table: SqliteInboxTable
  readonly writer: Writer
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly deadLetterMs: number
  readonly log: InboxLog
}

/** The steps of workers, each in a transaction. */
export class WorkTable implements InboxTable {
  readonly onPut: InboxTable['onPut']
  readonly #parts: Parts
  /** The wall clock less the monotonic one, which nobody sets. */
  #offset: number
  #sweepAt = Number.NEGATIVE_INFINITY

  constructor(parts: Parts) {
    this.onPut = parts.onPut
    this.#parts = parts
    this.#offset = parts.clock.now() - parts.clock.monotonic()
  }

  async take(request: TakeRequest): Promise<Taken> {
    const { table, writer, log } = this.#parts
    for (;;) {
      const { leftOut } = table
      try {
        const taken = await writer.write(() => {
          this.#compareClocks()
          this.#sweep()
          return table.take(request)
        })
        if (table.leftOut > leftOut) log.tellLeftOut()
        return taken
      } catch (error) {
        // One row less is in the way each time.
        if (!isDamage(error) || !(await this.#isOutOfTheWay(request.worker, leftOut))) throw error
      }
    }
  }

  /** Returns whether the row that a search found damaged is left out from now on, or became a dead letter. */
  async #isOutOfTheWay(worker: string, leftOut: number): Promise<boolean> {
    const { table, writer, log } = this.#parts
    let key: string | undefined
    try {
      key = await writer.write(() => table.setAside(worker))
    } catch (error) {
      if (!isDamage(error)) throw error
    }
    if (key !== undefined) log.tellSetAside(key)
    if (table.leftOut > leftOut) log.tellLeftOut()
    return key !== undefined || table.leftOut > leftOut
  }

  renew(worker: string, leaseMs: number): Promise<void> {
    return this.#parts.writer.write(() => this.#parts.table.renew(worker, leaseMs))
  }

  async settle(item: InboxEntry, worker: string, settlement: Settlement): Promise<boolean> {
    const { table, log } = this.#parts
    try {
      return await this.#orWithoutBody(item.key, () => table.settle(item, worker, settlement))
    } catch (error) {
      if (!isDamage(error)) throw error
      log.tellUnsettled(item.key)
      return false // the worker goes on with others
    }
  }

  drop(key: string): Promise<boolean> {
    return this.#orWithoutBody(key, () => this.#parts.table.drop(key))
  }

  /** Runs a step that may delete an item. If its body cannot be deleted, that stays in the file. */
  async #orWithoutBody<T>(key: string, step: () => T): Promise<T> {
    const { table, writer } = this.#parts
    try {
      return await writer.write(step)
    } catch (error) {
      if (!isDamage(error)) throw error
      return writer.write(() => {
        table.detach(key)
        return step()
      })
    }
  }

  /** A clock that was set ahead by mistake must not make dead letters old: they are safe for a day, or until it is set back. */
  #compareClocks(): void {
    const { clock, table } = this.#parts
    const offset = clock.now() - clock.monotonic()
    const movedMs = offset - this.#offset
    this.#offset = offset
    if (movedMs < -MOST_DRIFT_MS) table.onSetBack()
    if (movedMs < -LARGE_JUMP_MS) this.#sweepAt = Number.NEGATIVE_INFINITY
    if (movedMs > LARGE_JUMP_MS) this.#sweepAt = clock.monotonic() + DAY_MS
  }

  #sweep(): void {
    const { clock, table, deadLetterMs, log } = this.#parts
    const now = clock.monotonic()
    if (now < this.#sweepAt) return
    this.#sweepAt = now + SWEEP_MS // also if it fails
    const dropped = table.sweepDead(deadLetterMs)
    if (dropped === 0) return table.lookAtLanes()
    this.#sweepAt = now
    warnOfDropped(log.logger, 'sqliteInbox', dropped, deadLetterMs)
  }
}

function isDamage(error: unknown): boolean {
  return resultCodeOf(Object(error).cause) === 'SQLITE_CORRUPT'
}

/** Reports to the owner of an inbox, once there is a logger. */
export class InboxLog {
  logger: Logger | undefined
  readonly #file: string
  #hasToldLeftOut = false

  constructor(file: string) {
    this.#file = file
  }

  tellSetAside(key: string): void {
    this.#tellDamage({ key }, 'made a dead letter of an event whose body cannot be read')
  }

  tellUnsettled(key: string): void {
    this.#tellDamage({ key }, 'cannot write the result of an event')
  }

  tellLeftOut(): void {
    if (!this.#hasToldLeftOut) this.#tellDamage({}, 'leaves out events whose rows it cannot read or write')
    this.#hasToldLeftOut = true
  }

  #tellDamage(fields: object, what: string): void {
    const fix =
      'The file is damaged: stop the app, and let `.recover` of the program sqlite3 (from sqlite.org) save what can be read.'
    this.logger?.error({ file: this.#file, ...fields }, `sqliteInbox ${what}. ${fix}`)
  }
}

import type { InboxEntry, InboxItem } from 'postern'
import { openSqlite } from 'postern/sqlite'
import type { Settlement, Taken, TakeRequest } from '../../../../src/engine.ts'
import type { Life } from '../life.ts'
import type { Subject } from '../subject.ts'
import type { World } from '../world.ts'
import { InboxLedger } from './inbox-ledger.ts'
import type { InboxPlan } from './inbox-plan.ts'

/** The time of the engine's clock at the start of a run. */
const EPOCH = Date.UTC(2025, 0, 1)

/**
 * The engine of the inbox: the library's own table, on SQLite in memory. It reports each call to the ledger and to listeners, and survives
 * the processes.
 */
export class InboxHouse {
  readonly plan: InboxPlan
  readonly ledger: InboxLedger
  readonly #world: World
  readonly #engine: InstanceType<Subject['SqliteInboxTable']>
  readonly #listeners = new Set<() => void>()

  constructor(world: World, plan: InboxPlan) {
    this.plan = plan
    this.#world = world
    this.ledger = new InboxLedger(world)
    this.#engine = new world.subject.SqliteInboxTable(
      openSqlite(':memory:'),
      'inbox',
      () => EPOCH + Math.floor(world.now),
    )
  }

  get now(): number {
    return this.#world.now
  }

  put(life: Life, item: InboxItem): boolean {
    return this.#step(() => {
      const isNew = this.#engine.put(item)
      this.ledger.onPut(life, item)
      return isNew
    })
  }

  take(life: Life, request: TakeRequest): Taken {
    return this.#step(() => {
      const taken = this.#engine.take(request)
      this.ledger.onTake(life, request, taken)
      return taken
    })
  }

  renew(worker: string, leaseMs: number): void {
    return this.#step(() => {
      this.#engine.renew(worker, leaseMs)
      this.ledger.onRenew(worker, leaseMs)
    })
  }

  settle(item: InboxEntry, worker: string, settlement: Settlement): boolean {
    return this.#step(() => {
      const isHeld = this.#engine.settle(item, worker, settlement)
      this.ledger.onSettle(item, worker, settlement, isHeld)
      return isHeld
    })
  }

  replay(key: string): boolean {
    return this.#step(() => {
      const isReplayed = this.#engine.replay(key)
      this.ledger.onReplay(key, isReplayed)
      return isReplayed
    })
  }

  drop(key: string): boolean {
    return this.#step(() => {
      const isDropped = this.#engine.drop(key)
      this.ledger.onDrop(key, isDropped)
      return isDropped
    })
  }

  /** Calls back after each step of the engine. Returns a function that stops it. */
  listen(callback: () => void): () => void {
    this.#listeners.add(callback)
    return () => this.#listeners.delete(callback)
  }

  #step<T>(step: () => T): T {
    const answer = step()
    for (const listener of this.#listeners) listener()
    return answer
  }
}

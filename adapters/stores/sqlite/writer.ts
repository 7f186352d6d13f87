import { explain } from './explain.ts'
import { isLocked, resultCodeOf } from './result-code.ts'
import type { WrappedConnection } from './wrap-connection.ts'

/** What a group holds at most: it bounds how long the event loop and other processes wait for one commit. */
const MOST_IN_GROUP = 256
/**
 * A lock is waited for less long than a receiver waits for its store (3 s), so that nothing is carried out behind its back. With a lease
 * below 5 s it waits less for a claim, and gives back one that comes later.
 */
const GIVE_UP_AFTER_MS = 2_500
const LONGEST_PAUSE_MS = 40

interface Job {
  /** Whether it has a transaction of its own. */
  isAlone: boolean
  readonly until: number
  /** Runs within the transaction. Gives what settles the job once that is committed. */
  run(): () => void
  fail(error: unknown): void
}

const writers = new WeakMap<object, Writer>()

/**
 * Takes what is to be written and commits what waits together in one transaction, in the order in which it came. While another
 * process has the file locked, it is asked for again and again with pauses between, in which the event loop goes on.
 */
export class Writer {
  readonly #database: WrappedConnection
  readonly #afterGroup = new Set<() => void>()
  #jobs: Job[] = []
  #isAwaited = false
  #timer: NodeJS.Timeout | undefined
  #tries = 0

  private constructor(database: WrappedConnection) {
    this.#database = database
  }

  /**
   * The one writer of a connection: a store and an inbox on it share their commits.
   *
   * @param afterGroup called at the end of each group's transaction
   */
  static on(database: WrappedConnection, afterGroup?: () => void): Writer {
    const writer = writers.get(database.connection) ?? new Writer(database)
    writers.set(database.connection, writer)
    if (afterGroup !== undefined) writer.#afterGroup.add(afterGroup)
    return writer
  }

  /** Runs a step in the next transaction, beside others. Resolved once it is committed; its answer is worth nothing before. */
  write<T>(step: () => T): Promise<T> {
    return this.#enqueue(step, false)
  }

  /** Runs a step in a transaction of its own, so that its failure is nobody else's. */
  writeAlone<T>(step: () => T): Promise<T> {
    return this.#enqueue(step, true)
  }

  #enqueue<T>(step: () => T, isAlone: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        const result = step()
        return () => resolve(result)
      }
      // What fails alone may be the app's own, and is told as it is.
      const fail = isAlone ? reject : (error: unknown) => reject(explain(error))
      this.#jobs.push({ isAlone, until: performance.now() + GIVE_UP_AFTER_MS, run, fail })
      if (!this.#isAwaited) this.#next(0)
      else this.#timer?.ref()
    })
  }

  /** Not at once: whatever else comes in with this turn of the event loop shares the commit. */
  #next(pauseMs: number): void {
    this.#isAwaited = true
    const flush = () => {
      this.#isAwaited = false
      this.#timer = undefined
      this.#flush()
    }
    if (pauseMs === 0) setImmediate(flush)
    else this.#timer = setTimeout(flush, pauseMs)
    if (this.#jobs.length === 0) this.#timer?.unref() // only to roll back
  }

  #flush(): void {
    try {
      this.#begin()
    } catch (error) {
      this.#onClosedDoor(error)
      return
    }
    this.#tries = 0
    this.#commit(this.#takeGroup())
    if (this.#jobs.length > 0) this.#next(0)
    else if (this.#database.guard.isAbandoned) this.#next(this.#pause())
  }

  /** Without waiting for a lock, which would stop the event loop. The connection's own patience is given back. */
  #begin(): void {
    const patienceMs = Number(this.#database.pragma('busy_timeout')[0]?.timeout ?? 0)
    if (patienceMs === 0) return this.#database.exec('BEGIN IMMEDIATE')
    this.#database.pragma('busy_timeout = 0')
    try {
      this.#database.exec('BEGIN IMMEDIATE')
    } finally {
      this.#database.pragma(`busy_timeout = ${patienceMs}`)
    }
  }

  #takeGroup(): readonly Job[] {
    if (this.#jobs[0]?.isAlone === true) return this.#jobs.splice(0, 1)
    const end = this.#jobs.findIndex(({ isAlone }) => isAlone)
    return this.#jobs.splice(0, Math.min(end === -1 ? MOST_IN_GROUP : end, MOST_IN_GROUP))
  }

  #commit(group: readonly Job[]): void {
    const settle: (() => void)[] = []
    try {
      for (const job of group) settle.push(job.run())
    } catch (error) {
      this.#database.guard.rollBack()
      if (resultCodeOf(error) === 'SQLITE_CORRUPT') this.#forgetPages()
      this.#onFailure(group, error)
      return
    }
    let swept: unknown
    try {
      for (const sweep of this.#afterGroup) sweep()
    } catch (error) {
      swept = error // what it leaves undone comes later
    }
    try {
      this.#database.exec('COMMIT')
    } catch (error) {
      this.#database.guard.rollBack()
      for (const job of group) job.fail(swept ?? error)
      return
    }
    for (const each of settle) each()
  }

  /** One step may fail by a row that is broken: the others of its group are none the worse for it. */
  #onFailure(group: readonly Job[], error: unknown): void {
    if (group.length === 1) return group[0]?.fail(error)
    for (const job of group) job.isAlone = true
    this.#jobs.unshift(...group)
  }

  /** What was read of a damaged file would be believed even after a sound copy has come in its place. */
  #forgetPages(): void {
    try {
      this.#database.exec('PRAGMA shrink_memory')
    } catch {
      // The damage is in what tells of the tables: it is read anew each time.
    }
  }

  #onClosedDoor(error: unknown): void {
    const now = performance.now()
    const left: Job[] = []
    for (const job of this.#jobs) {
      if (isLocked(error) && job.until > now) left.push(job)
      else job.fail(error)
    }
    this.#jobs = left
    if (left.length > 0 || this.#database.guard.isAbandoned) this.#next(this.#pause())
    else this.#tries = 0
  }

  /** Longer with each try, and never the same for two processes. */
  #pause(): number {
    const longest = Math.min(2 ** this.#tries++, LONGEST_PAUSE_MS)
    return 1 + Math.random() * longest
  }
}

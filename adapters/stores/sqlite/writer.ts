import { systemClock } from '../../../src/engine.ts'
import { explain, isLocked } from './faults.ts'
import { watchFile } from './opened-file.ts'
import type { WrappedConnection } from './wrap-connection.ts'

/** The most jobs of a group: it limits how long the event loop and other processes wait for one commit. */
const MOST_IN_GROUP = 256
/** Shorter than a receiver's wait for its store (3 s), so that no job runs after its receiver has given up. */
const GIVE_UP_AFTER_MS = 2_500
const LONGEST_PAUSE_MS = 40

interface Job {
  /** True if the job has its own transaction. */
  isAlone: boolean
  readonly until: number
  /** Runs within the transaction. Returns the function that settles the job after the commit. */
  run(): () => void
  fail(error: unknown): void
}

const writers = new WeakMap<object, Writer>()

/** Commits the jobs that wait together, in their order. While the file is locked, it retries after pauses. */
export class Writer {
  readonly #database: WrappedConnection
  readonly #checkFile: () => void
  readonly #afterGroup = new Set<() => void>()
  #jobs: Job[] = []
  #isAwaited = false
  #timer: NodeJS.Timeout | undefined
  #tries = 0

  private constructor(database: WrappedConnection, file: string) {
    this.#database = database
    this.#checkFile = watchFile(file)
  }

  /** Returns the only writer of a connection to a file. `afterGroup` is called at the end of each transaction. */
  static on(database: WrappedConnection, file: string, afterGroup?: () => void): Writer {
    const writer = writers.get(database.connection) ?? new Writer(database, file)
    writers.set(database.connection, writer)
    if (afterGroup !== undefined) writer.#afterGroup.add(afterGroup)
    return writer
  }

  /**
   * Runs a step in the next transaction, together with others. Resolves after the commit; the step's result does not count before.
   *
   * @param isAlone whether the step has its own transaction, so that its failure affects no other
   */
  write<T>(step: () => T, isAlone = false): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        const result = step()
        return () => resolve(result)
      }
      // A step that runs alone may fail by the app's own error, which is passed on unchanged.
      const fail = isAlone ? reject : (error: unknown) => reject(explain(error))
      this.#jobs.push({ isAlone, until: systemClock.monotonic() + GIVE_UP_AFTER_MS, run, fail })
      if (!this.#isAwaited) this.#next(0)
      else this.#timer?.ref()
    })
  }

  /** Waits for the next turn of the event loop, so that everything that arrives in this turn shares the commit. */
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

  /** Begins without waiting for a lock, which would block the event loop. Then restores the connection's own timeout. */
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
      this.#onFailure(group, error)
      return
    }
    let swept: unknown
    try {
      for (const sweep of this.#afterGroup) sweep()
    } catch (error) {
      swept = error // what it leaves undone is done later
    }
    try {
      this.#database.exec('COMMIT')
      this.#checkFile() // a commit counts only in a file that stands at its path
    } catch (error) {
      this.#database.guard.rollBack()
      for (const job of group) job.fail(swept ?? error)
      return
    }
    for (const each of settle) each()
  }

  /** A broken row may fail one step: then each step of its group runs alone, and the others succeed. */
  #onFailure(group: readonly Job[], error: unknown): void {
    if (group.length === 1) return group[0]?.fail(error)
    for (const job of group) job.isAlone = true
    this.#jobs.unshift(...group)
  }

  #onClosedDoor(error: unknown): void {
    const now = systemClock.monotonic()
    const left: Job[] = []
    for (const job of this.#jobs) {
      if (isLocked(error) && job.until > now) left.push(job)
      else job.fail(error)
    }
    this.#jobs = left
    if (left.length > 0 || this.#database.guard.isAbandoned) this.#next(this.#pause())
    else this.#tries = 0
  }

  /** Returns a pause that grows with each try, and that differs between processes. */
  #pause(): number {
    const longest = Math.min(2 ** this.#tries++, LONGEST_PAUSE_MS)
    return 1 + Math.random() * longest
  }
}

import { randomInt } from 'node:crypto'
import { systemClock } from '../../../src/engine.ts'
import type { Notices } from '../notices.ts'
import { isFromServer, isOfReplica, makeRunner, type RunScript } from './client.ts'
import { askDatabase, type DuplicableClient, Duplicate, isClosed } from './duplicate.ts'
import type { OpenCalls } from './open-calls.ts'
import { PROBE, type Script } from './scripts.ts'

/** The limit for an answer on a new connection, including the time to connect. */
const NEW_LIMIT_MS = 6_000
/** The additional time for an answer on the current connection: earlier commands may take their time. */
const BEHIND_MS = 5_000
const AGAIN_AFTER_MS = 250
const NOT_AGAIN_FOR_MS = 3_000
/** Duplicates of old clusters with silent nodes cannot be closed. If there are so many, new ones are made rarely. */
const MANY_DUPLICATES = 6
const RARELY_MS = 60_000
/** A cluster is probed with as many random keys, so that most of its masters must answer. */
const CLUSTER_PROBES = 32

const REPLACED =
  'The client of Redis got no answer although a new connection did, or it is connected to a server that is now a replica. The store continues with a duplicate of the client. Your own commands on that client may still be waiting for answers.'

const STUCK =
  'Calls to Redis get no answer, or only one from a replica, and the client of the store cannot be duplicated. If Redis is up, give the clients of a pool socket: { socketTimeout: 5_000, reconnectStrategy: () => 500 }, or give the store a client that has duplicate().'

/**
 * Runs scripts by the given client, or by a duplicate if that client leads to a replica, or gets no answer while a new connection does. It
 * returns to the given client once the duplicate has lost its connection. The client is the app's: this class never closes it and never
 * makes it connect.
 */
export class Connection {
  /** The number of changes from one connection to another. */
  switches = 0
  readonly #given: DuplicableClient
  readonly #runGiven: RunScript
  readonly #prefix: string
  readonly #calls: OpenCalls
  readonly #notices: Notices
  readonly #isCluster: boolean
  #database: number | undefined
  #run: RunScript
  /** The duplicate in use, if any. */
  #duplicate: Duplicate | undefined
  #duplicates = 0
  #isLooking = false
  #notBefore = 0

  /** @param prefix of every key */
  constructor(client: unknown, prefix: string, calls: OpenCalls, notices: Notices) {
    this.#given = Object(client)
    this.#runGiven = makeRunner(client)
    this.#run = this.#runGiven
    this.#prefix = prefix
    this.#calls = calls
    this.#notices = notices
    this.#isCluster = this.#given.masters !== undefined || this.#given.nodes !== undefined
  }

  run(script: Script, keys: string[], given: string[]): Promise<unknown> {
    return this.#run(script, keys, given)
  }

  /** Reads from the client, while it works, the settings for a duplicate. */
  async learn(): Promise<void> {
    if (this.#given.duplicate !== undefined && !this.#isCluster)
      this.#database = await askDatabase(this.#given).catch(() => undefined)
  }

  /** Runs a script by the given client too if a duplicate is in use, behind the commands that wait there. */
  runBehind(script: Script, keys: string[], given: string[]): void {
    const run = this.#runGiven
    if (this.#run === run) return
    // Twice: a command that waits there is sent again, as its whole text, if the server does not know the script.
    run(script, keys, given)
      .then(() => run(script, keys, given))
      .catch(() => {})
  }

  /** Called while a call has no answer. */
  afterSilence(): void {
    this.#lookUnless(() => this.#isAnswered())
  }

  /** Called after a failure: of a server that refuses writes, as after a failover, or in the client, for example by a time limit. */
  afterFailure(error: unknown): void {
    if (!isFromServer(error)) this.afterSilence()
    else if (isOfReplica(error)) this.#lookUnless(async () => false)
  }

  #lookUnless(isInUseWell: () => Promise<boolean>): void {
    if (systemClock.monotonic() >= this.#notBefore) void this.#look(isInUseWell)
  }

  /** Switches to a new connection if that is answered, and the current one does not recover soon after. */
  async #look(isInUseWell: () => Promise<boolean>): Promise<void> {
    if (this.#isLooking || isClosed(this.#given)) return
    this.#isLooking = true
    await this.#replaceUnless(isInUseWell).catch(() => {}) // the calls that fail are reported
    this.#isLooking = false
    this.#notBefore = systemClock.monotonic() + (this.#duplicates < MANY_DUPLICATES ? NOT_AGAIN_FOR_MS : RARELY_MS)
  }

  async #replaceUnless(isInUseWell: () => Promise<boolean>): Promise<void> {
    if (this.#given.duplicate === undefined) {
      if (!(await isSoIn(BEHIND_MS, isInUseWell()))) this.#notices.warn(STUCK)
      return
    }
    const duplicate = this.#open()
    const run = await Promise.race([this.#runIfAnswered(duplicate), pause(NEW_LIMIT_MS)])
    if (run === undefined || (await isSoIn(BEHIND_MS, isInUseWell())) || duplicate.isClosed)
      return void duplicate.close()
    void this.#duplicate?.close()
    this.#duplicate = duplicate
    this.#run = run
    this.switches++
    this.#calls.forget()
    this.#notices.warn(REPLACED)
  }

  #open(): Duplicate {
    const duplicate = new Duplicate(this.#given, this.#database, () => {
      this.#duplicates--
      if (this.#duplicate !== duplicate) return
      this.#duplicate = undefined
      this.#run = this.#runGiven
    })
    this.#duplicates++
    return duplicate
  }

  async #runIfAnswered(duplicate: Duplicate): Promise<RunScript | undefined> {
    const run = await duplicate.connected.catch(() => undefined)
    if (run === undefined) return undefined
    return (await this.#probe(run, () => false)) ? run : undefined
  }

  /** Returns whether the current connection is answered. The client may be reconnecting, and refuse calls until it is connected. */
  async #isAnswered(): Promise<boolean> {
    const { answers } = this.#calls
    const giveUpAt = systemClock.monotonic() + BEHIND_MS
    let [isAnswered, isAsking] = [false, false]
    const ask = async () => {
      isAsking = true
      isAnswered = await this.#probe(this.#run, isFromServer)
      isAsking = false
    }
    while (systemClock.monotonic() < giveUpAt) {
      if (!isAsking) void ask()
      await pause(AGAIN_AFTER_MS)
      if (isAnswered || (!this.#isCluster && this.#calls.answers > answers)) return true
    }
    return false
  }

  async #probe(run: RunScript, isAnswer: (error: unknown) => boolean): Promise<boolean> {
    const calls = Array.from({ length: this.#isCluster ? CLUSTER_PROBES : 1 }, () =>
      run(PROBE, [`${this.#prefix}probe:${randomInt(1_000_000)}`], []).then(() => true, isAnswer),
    )
    return (await Promise.all(calls)).every(Boolean)
  }
}

async function isSoIn(limitMs: number, asking: Promise<boolean>): Promise<boolean> {
  return (await Promise.race([asking, pause(limitMs)])) === true
}

/** Does not keep the process alive. */
function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => void setTimeout(() => resolve(undefined), ms).unref())
}

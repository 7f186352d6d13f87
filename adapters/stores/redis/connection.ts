import { randomInt } from 'node:crypto'
import { makeRunner, type RunScript } from './client.ts'
import { askDatabase, type DuplicableClient, Duplicate, isClosed } from './duplicate.ts'
import { isFromServer, isOfReplica } from './reply.ts'
import { PROBE, type Script } from './scripts.ts'

/** How long an answer is waited for on a new connection. It has to be made first. */
const NEW_LIMIT_MS = 6_000
/** How much later than there an answer may come on the connection in use: what was sent there before may take its time. */
const BEHIND_MS = 5_000
const AGAIN_AFTER_MS = 250
const NOT_AGAIN_FOR_MS = 3_000
/** For servers that stay replicas. */
const LONGEST_PAUSE_MS = 60_000
/** So many duplicates may hang: those of old clusters whose nodes do not answer cannot be closed before they do. After that they are made rarely. */
const MANY_DUPLICATES = 6
const RARELY_MS = 60_000
/** A cluster is asked for as many random keys, so that most of its masters have to answer. */
const CLUSTER_PROBES = 32

interface Host {
  /** Stands before every key. */
  readonly prefix: string
  /** How many calls the server has answered. */
  countAnswers(): number
  /** Another connection is in use from now on. */
  onReplaced(): void
  /** Another connection is needed, and the client cannot be duplicated. */
  onStuck(): void
}

/**
 * Runs scripts by the client that was given, or by a duplicate of it where that client gets no answer and a new one does, or leads to a
 * replica; by the client again once the duplicate has lost its connection. The client is the app's: it is never closed or made to
 * connect from here.
 */
export class Connection {
  readonly #given: DuplicableClient
  readonly #runGiven: RunScript
  readonly #host: Host
  readonly #isCluster: boolean
  #database: number | undefined
  #run: RunScript
  /** The one in use, if one is. */
  #duplicate: Duplicate | undefined
  #duplicates = 0
  #isLooking = false
  #notBefore = 0
  #demotedAt = Number.NEGATIVE_INFINITY
  /** How long the next look waits for. It grows while new connections lead to replicas too. */
  #demotedPauseMs = 0

  constructor(client: unknown, host: Host) {
    this.#given = Object(client)
    this.#runGiven = makeRunner(client)
    this.#run = this.#runGiven
    this.#host = host
    this.#isCluster = this.#given.masters !== undefined || this.#given.nodes !== undefined
  }

  run(script: Script, key: string, given: string[]): Promise<unknown> {
    return this.#run(script, key, given)
  }

  /** Learns of the client, while it is well, what a duplicate has to be told. */
  async learn(): Promise<void> {
    if (this.#given.duplicate !== undefined && !this.#isCluster)
      this.#database = await askDatabase(this.#given).catch(() => undefined)
  }

  /** Runs it by the client that was given as well if a duplicate is in use, behind what waits there. */
  runBehind(script: Script, key: string, given: string[]): void {
    const run = this.#runGiven
    if (this.#run === run) return
    // Twice: what waits there is sent again, as its whole text, if the server does not know the script.
    run(script, key, given)
      .then(() => run(script, key, given))
      .catch(() => {})
  }

  /** For a call without an answer. */
  afterSilence(): void {
    if (performance.now() >= this.#notBefore) void this.#look(() => this.#isAnswered())
  }

  /** For a call that failed: by a server that takes no writes any more, as after a failover, or in the client, by a time limit perhaps. */
  afterFailure(error: unknown): void {
    if (!isFromServer(error)) this.afterSilence()
    else if (isOfReplica(error)) this.#afterDemotion()
  }

  #afterDemotion(): void {
    const now = performance.now()
    const since = now - this.#demotedAt
    if (since < this.#demotedPauseMs || this.#isLooking) return
    const isFirst = since > 2 * LONGEST_PAUSE_MS || this.#demotedPauseMs === 0
    this.#demotedPauseMs = isFirst ? NOT_AGAIN_FOR_MS : Math.min(2 * this.#demotedPauseMs, LONGEST_PAUSE_MS)
    this.#demotedAt = now
    void this.#look(async () => false)
  }

  /** Goes over to a new connection if that is answered, and the one in use is not well soon after. */
  async #look(isInUseWell: () => Promise<boolean>): Promise<void> {
    if (this.#isLooking || isClosed(this.#given)) return
    this.#isLooking = true
    await this.#replaceUnless(isInUseWell).catch(() => {}) // the calls that fail are told of
    this.#isLooking = false
    this.#notBefore = performance.now() + (this.#duplicates < MANY_DUPLICATES ? NOT_AGAIN_FOR_MS : RARELY_MS)
  }

  async #replaceUnless(isInUseWell: () => Promise<boolean>): Promise<void> {
    if (this.#given.duplicate === undefined) {
      if (!(await isSoIn(BEHIND_MS, isInUseWell()))) this.#host.onStuck()
      return
    }
    const duplicate = this.#open()
    const run = await Promise.race([this.#runIfAnswered(duplicate), pause(NEW_LIMIT_MS)])
    if (run === undefined || (await isSoIn(BEHIND_MS, isInUseWell())) || duplicate.isClosed)
      return void duplicate.close()
    void this.#duplicate?.close()
    this.#duplicate = duplicate
    this.#run = run
    this.#demotedPauseMs = 0 // it has led to a master
    this.#host.onReplaced()
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

  /** Whether the connection in use is. The client may be connecting by itself, and refuse calls until it has. */
  async #isAnswered(): Promise<boolean> {
    const answers = this.#host.countAnswers()
    const giveUpAt = performance.now() + BEHIND_MS
    let [isAnswered, isAsking] = [false, false]
    const ask = async () => {
      isAsking = true
      isAnswered = await this.#probe(this.#run, isFromServer)
      isAsking = false
    }
    while (performance.now() < giveUpAt) {
      if (!isAsking) void ask()
      await pause(AGAIN_AFTER_MS)
      if (isAnswered || (!this.#isCluster && this.#host.countAnswers() > answers)) return true
    }
    return false
  }

  async #probe(run: RunScript, isAnswer: (error: unknown) => boolean): Promise<boolean> {
    const calls = Array.from({ length: this.#isCluster ? CLUSTER_PROBES : 1 }, () =>
      run(PROBE, `${this.#host.prefix}probe:${randomInt(1_000_000)}`, []).then(() => true, isAnswer),
    )
    return (await Promise.all(calls)).every(Boolean)
  }
}

async function isSoIn(limitMs: number, asking: Promise<boolean>): Promise<boolean> {
  return (await Promise.race([asking, pause(limitMs)])) === true
}

/** Keeps no process alive. */
function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => void setTimeout(() => resolve(undefined), ms).unref())
}

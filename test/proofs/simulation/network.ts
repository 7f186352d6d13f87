import type { Claim, TransactionClaim } from 'postern'
import type { LostClaims } from '../../../adapters/stores/lost-claims.ts'
import type { Grant } from './facts.ts'
import { contextOfDelivery, judgeContext } from './judge-context.ts'
import type { Life } from './life.ts'
import type { Fate } from './plan.ts'
import { Chance } from './random.ts'
import { commit, noteEnd, type Tx } from './transactions.ts'
import { type CallWords, WatchedStore } from './watched-store.ts'
import type { World } from './world.ts'

/** After this time without an answer a connection in a transaction counts as lost. */
const TRANSACTION_LIMIT_MS = 20_000

/** One call on its way to the engine and back. */
interface Way<T> {
  readonly what: string
  readonly fate: Fate | undefined
  readonly requestMs: number
  readonly answerMs: number
  /** The start of the engine to which the connection belongs. */
  readonly starts: number
  readonly carryOut: () => T
  readonly resolve: (answer: T) => void
  readonly reject: (error: Error) => void
}

/** A process's connection to the engine: a store whose calls and answers go through the simulated network. */
export class Connection extends WatchedStore {
  readonly #lost: LostClaims
  /** Tokens of claims that got another answer. */
  readonly #refused = new Set<string>()
  readonly #calls = new Map<string, number>()

  constructor(world: World, life: Life) {
    super(world, life)
    // What a store does by itself belongs to no delivery.
    const giveBack = async (key: string, token: string) =>
      contextOfDelivery.run(world.history.findByKey(key), () => this.release(key, token, []))
    this.#lost = new world.subject.LostClaims(giveBack, life.driverClock)
  }

  override async claim(key: string, leaseMs: number, positionKeys?: readonly string[]): Promise<Claim> {
    const { world } = this
    const token = this.nextToken()
    const claiming = Promise.resolve(this.claimBy(token, key, leaseMs, positionKeys))
    const watched = world.givesBackLostClaims ? this.#lost.watch(key, token, leaseMs, claiming) : claiming
    const answer = await watched
    const grant = answer.state === 'claimed' ? world.ledger.grantOf(key, token) : undefined
    if (grant !== undefined) grant.answeredAt ??= world.now
    if (answer.state !== 'claimed') this.#refused.add(token)
    return answer
  }

  protected override onGrant(grant: Grant): void {
    if (!this.#refused.has(grant.token)) return
    grant.isEcho = true
    this.world.visit('claimed without its process knowing')
  }

  /** Sends a call to the engine. The promise never settles if the call or its answer is lost, or the process is dead. */
  protected override ask<T>({ method, key, details }: CallWords, carryOut: () => T): Promise<T> {
    const { world, life } = this
    return new Promise((resolve, reject) => {
      if (!life.step()) return
      judgeContext(world, world.history.findByKey(key), method)
      const what = `${method} ${world.nameKey(key)} ${details}`.trimEnd()
      // Each call has its own luck, which no other event changes.
      const luck = `${life.process} ${method} ${key} ${this.#countCall(`${method} ${key}`)}`
      const chance = new Chance(world.plan.seed, luck)
      const { latencyMs } = world.plan.settings
      const [requestMs, answerMs] = [chance.int(1, latencyMs), chance.int(1, latencyMs)]
      const fate = world.weather.fateOf(life.process, method, luck)
      world.say(life.name, () => `asks the engine: ${what}${fate === undefined ? '' : ` (${showFate(fate)})`}`)
      const { starts } = world.host
      life.callsUnderWay++
      const end =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          life.callsUnderWay--
          settle(value)
        }
      this.#depart({ what, fate, requestMs, answerMs, starts, carryOut, resolve: end(resolve), reject: end(reject) })
    })
  }

  #countCall(kind: string): number {
    const count = this.#calls.get(kind) ?? 0
    this.#calls.set(kind, count + 1)
    return count
  }

  #depart<T>(way: Way<T>): void {
    const { scheduler, host, now } = this.world
    const { fate, requestMs } = way
    if (now < host.downUntil) return this.#refuse(way, 'the connection is refused')
    switch (fate?.kind) {
      case 'request lost':
        return
      case 'cut before':
        return this.#refuse(way, 'the connection is cut')
      case 'cut, carried out later':
        this.#refuse(way, 'the connection is cut')
        scheduler.after(requestMs + fate.ms, () => this.#arrive(way, false))
        return
      case 'answer lost':
        scheduler.after(requestMs, () => this.#arrive(way, false))
        return
      case 'request late':
        scheduler.after(requestMs + fate.ms, () => this.#arrive(way, true))
        return
      case 'doubled':
        scheduler.after(requestMs, () => this.#arrive(way, true))
        scheduler.after(requestMs + fate.ms, () => this.#arrive(way, false))
        return
      default:
        scheduler.after(requestMs, () => this.#arrive(way, true))
    }
  }

  #arrive<T>(way: Way<T>, isAnswered: boolean): void {
    const { scheduler, host, now } = this.world
    const { what, fate, answerMs, starts } = way
    if (starts !== host.starts || now < host.downUntil) {
      if (isAnswered) this.#refuse(way, 'the engine was restarted')
      return
    }
    if (now < host.frozenUntil) {
      scheduler.at(host.frozenUntil, () => this.#arrive(way, isAnswered))
      return
    }
    if (now < host.refusesUntil) {
      if (isAnswered) this.#refuse(way, 'the engine refuses')
      return
    }
    const answer = way.carryOut()
    this.world.say('engine', () => `carries out: ${what}: ${JSON.stringify(answer)}`)
    if (!isAnswered) return
    this.life.post(answerMs + (fate?.kind === 'answer late' ? fate.ms : 0), () => {
      this.world.say(this.life.name, () => `is answered: ${what}: ${JSON.stringify(answer)}`)
      if (starts === host.starts) way.resolve(answer)
      else way.reject(new Error('the engine was restarted'))
    })
  }

  #refuse<T>({ what, answerMs, reject }: Way<T>, why: string): void {
    this.life.post(answerMs, () => {
      this.world.say(this.life.name, () => `gets an error: ${what}: ${why}`)
      reject(new Error(why))
    })
  }
}

/** A connection to an engine in which handlers can write: rows and finish mark are committed together. */
export class TransactionalConnection extends Connection {
  transaction<T>(claim: TransactionClaim, work: (tx: Tx) => T | PromiseLike<T>): Promise<T> {
    return this.#transact(claim, work).finally(() => noteEnd(this.world, this.life, claim))
  }

  async #transact<T>(claim: TransactionClaim, work: (tx: Tx) => T | PromiseLike<T>): Promise<T> {
    const { signal } = claim
    await this.#sendOrGiveUp({ method: 'begin', key: claim.key, details: '' }, () => true)
    const value = await untilAborted(signal, () =>
      work({ write: () => this.#sendOrGiveUp({ method: 'write', key: claim.key, details: '' }, () => true) }),
    )
    if (signal.aborted) throw signal.reason
    if (this.life.isAlive) this.world.ledger.onSettling({ ...claim, life: this.life, askedAt: this.world.now })
    const words: CallWords = { method: 'commit', key: claim.key, details: `for ${claim.token}, mark ${claim.mark}` }
    const code = await this.#sendOrGiveUp(words, () => commit(this.world, this.life, claim))
    if (code === 'committed') return value
    throw Object.assign(new Error('it was rolled back'), { code })
  }

  /** Rejects if no answer arrives for long: the driver drops the connection, and cannot know whether the call was carried out. */
  #sendOrGiveUp<T>(words: CallWords, carryOut: () => T): Promise<T> {
    const lost = this.life.sleep(TRANSACTION_LIMIT_MS).then(() => {
      throw new Error(`no answer: ${words.method} may have been carried out, or not`)
    })
    return Promise.race([this.ask(words, carryOut), lost])
  }
}

/** Waits for the work of a transaction, or for the abort of its handler. */
function untilAborted<T>(signal: AbortSignal, work: () => T | PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort)
    new Promise<T>((begin) => begin(work()))
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
  })
}

function showFate(fate: Fate): string {
  return 'ms' in fate ? `${fate.kind} by ${fate.ms} ms` : fate.kind
}

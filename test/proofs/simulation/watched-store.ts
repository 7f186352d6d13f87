import type { Claim, Position, Store } from 'postern'
import type { Grant } from './facts.ts'
import type { Call } from './ledger.ts'
import type { Life } from './life.ts'
import type { Method } from './plan.ts'
import type { World } from './world.ts'

/** The content of a call, in the words of a trace. */
export interface CallWords {
  readonly method: Method
  readonly key: string
  readonly details: string
}

/** Carries out the calls, each in one step. */
type StoreEngine = Pick<World['host']['engine'], 'claim' | 'renew' | 'complete' | 'release'>

type Answer<T> = T | Promise<T>

/** A process's store, which reports each call to the ledger when it is carried out. */
export abstract class WatchedStore implements Store {
  readonly retentionMs: number
  readonly keepsPositions = true
  protected readonly world: World
  protected readonly life: Life
  readonly #engine: StoreEngine
  #tokens = 0

  constructor(world: World, life: Life, engine: StoreEngine = world.host.engine) {
    this.world = world
    this.life = life
    this.#engine = engine
    this.retentionMs = world.plan.settings.retentionMs
  }

  claim(key: string, leaseMs: number, positionKeys?: readonly string[]): Answer<Claim> {
    return this.claimBy(this.nextToken(), key, leaseMs, positionKeys)
  }

  renew(
    key: string,
    token: string,
    leaseMs: number,
    marks: readonly string[],
    positions?: readonly Position[],
  ): Answer<boolean> {
    const [call, kept] = [this.#callOf(key, token), [...marks]]
    return this.ask({ method: 'renew', key, details: `for ${token}${showMarks(kept)}` }, () => {
      const isHeld = this.#engine.renew(key, token, leaseMs, kept, positions)
      this.world.ledger.onRenew(call, leaseMs, kept, isHeld)
      return isHeld
    })
  }

  complete(key: string, token: string, positions?: readonly Position[]): Answer<boolean> {
    const call = this.#callOf(key, token)
    if (this.life.isAlive) this.world.ledger.onSettling(call)
    return this.ask({ method: 'complete', key, details: `for ${token}` }, () => {
      const isDone = this.#engine.complete(key, token, positions)
      this.world.ledger.onComplete(call, isDone)
      return isDone
    })
  }

  release(key: string, token: string, marks: readonly string[], positions?: readonly Position[]): Answer<boolean> {
    const [call, kept] = [this.#callOf(key, token), [...marks]]
    if (this.life.isAlive) this.world.ledger.onSettling(call)
    return this.ask({ method: 'release', key, details: `for ${token}${showMarks(kept)}` }, () => {
      const isReleased = this.#engine.release(key, token, kept, positions)
      this.world.ledger.onRelease(call, kept, isReleased)
      return isReleased
    })
  }

  /** Brings a call to the engine, and its answer back. */
  protected abstract ask<T>(words: CallWords, carryOut: () => T): Answer<T>

  /** Called when the engine has granted a claim. */
  protected abstract onGrant(grant: Grant): void

  protected nextToken(): string {
    return `${this.life.name}-${++this.#tokens}`
  }

  protected claimBy(token: string, key: string, leaseMs: number, positionKeys?: readonly string[]): Answer<Claim> {
    const call = this.#callOf(key, token)
    return this.ask({ method: 'claim', key, details: `for ${token}` }, () => {
      const answer = this.#engine.claim(key, token, leaseMs, positionKeys)
      const grant = this.world.ledger.onClaim(call, leaseMs, answer)
      if (grant !== undefined) this.onGrant(grant)
      return answer
    })
  }

  #callOf(key: string, token: string): Call {
    return { life: this.life, key, token, askedAt: this.world.now }
  }
}

function showMarks(marks: readonly string[]): string {
  return marks.length === 0 ? '' : ` with the marks ${marks.join(', ')}`
}

import type { Claim, MemoryStore, Position, Store, TransactionClaim } from 'postern'
import { judgeContext } from './judge-context.ts'
import type { Life } from './life.ts'
import type { Method } from './plan.ts'
import { commit, noteEnd, type Tx } from './transactions.ts'
import type { World } from './world.ts'

/** The answer to a dead process. Whatever the process does with it has no effect. */
class ProcessIsDead extends Error {}

type Brought = [(readonly Position[])?]

/** A store that answers immediately. */
interface Inner {
  claim(key: string, leaseMs: number, ...asked: [(readonly string[])?]): Claim
  renew(key: string, token: string, leaseMs: number, marks: readonly string[], ...brought: Brought): boolean
  complete(key: string, token: string, ...brought: Brought): boolean
  release(key: string, token: string, marks: readonly string[], ...brought: Brought): boolean
}

/** A store inside the process. The process may die before or after each call. */
class LocalStore implements Store {
  readonly retentionMs: number
  readonly keepsPositions = true
  protected readonly world: World
  protected readonly life: Life
  readonly #inner: Inner

  constructor(world: World, life: Life, inner: Inner) {
    this.world = world
    this.life = life
    this.#inner = inner
    this.retentionMs = world.plan.settings.retentionMs
  }

  claim(key: string, leaseMs: number, ...asked: [(readonly string[])?]): Claim {
    return this.ask('claim', key, '', () => {
      const answer = this.#inner.claim(key, leaseMs, ...asked)
      const token = answer.state === 'claimed' ? answer.token : ''
      const grant = this.world.ledger.onClaim(this.#callOf(key, token), leaseMs, answer)
      if (grant !== undefined) grant.answeredAt ??= this.world.now
      return answer
    })
  }

  renew(key: string, token: string, leaseMs: number, marks: readonly string[], ...brought: Brought): boolean {
    return this.ask('renew', key, `for ${token} with [${marks}]`, () => {
      const isHeld = this.#inner.renew(key, token, leaseMs, marks, ...brought)
      this.world.ledger.onRenew(this.#callOf(key, token), leaseMs, marks, isHeld)
      return isHeld
    })
  }

  complete(key: string, token: string, ...brought: Brought): boolean {
    return this.ask('complete', key, `for ${token}`, () => {
      this.world.ledger.onSettling(this.#callOf(key, token))
      const isDone = this.#inner.complete(key, token, ...brought)
      this.world.ledger.onComplete(this.#callOf(key, token), isDone)
      return isDone
    })
  }

  release(key: string, token: string, marks: readonly string[], ...brought: Brought): boolean {
    return this.ask('release', key, `for ${token} with [${marks}]`, () => {
      this.world.ledger.onSettling(this.#callOf(key, token))
      const isReleased = this.#inner.release(key, token, marks, ...brought)
      this.world.ledger.onRelease(this.#callOf(key, token), marks, isReleased)
      return isReleased
    })
  }

  protected ask<T>(method: Method, key: string, details: string, call: () => T): T {
    if (!this.life.step()) throw new ProcessIsDead()
    judgeContext(this.world, this.world.history.findByKey(key), method)
    this.beforeCall()
    const answer = call()
    this.world.say(
      this.life.name,
      () => `asks its store: ${method} ${this.world.nameKey(key)} ${details}: ${JSON.stringify(answer)}`,
    )
    if (!this.life.step()) throw new ProcessIsDead()
    return answer
  }

  /** Throws if the store cannot be reached. */
  protected beforeCall(): void {}

  #callOf(key: string, token: string) {
    return { life: this.life, key, token, askedAt: this.world.now }
  }
}

/** The library's own memory store. It ends with its process. */
export class WatchedMemoryStore extends LocalStore {
  readonly #store: MemoryStore

  constructor(world: World, life: Life) {
    const { memoryMax, retentionMs } = world.plan.settings
    const store = world.subject.memoryStore({ max: memoryMax, retentionMs, clock: life.clock })
    super(world, life, store as Inner) // all of its methods answer immediately
    this.#store = store
    life.onDeath(() => world.ledger.forgetAll())
  }

  /** A store that dropped events reports it, and may then be wrong about them. */
  protected override beforeCall(): void {
    this.world.isForgetful ||= this.#store.earlyDrops > 0
  }
}

/** A connection to an engine in the process, like SQLite: all processes share its file, and it outlives them. */
export class SharedFileStore extends LocalStore {
  constructor(world: World, life: Life) {
    const { engine } = world.host
    let tokens = 0
    super(world, life, {
      claim: (key, ...rest) => engine.claim(key, `${life.name}-${++tokens}`, ...rest),
      renew: (...given) => engine.renew(...given),
      complete: (...given) => engine.complete(...given),
      release: (...given) => engine.release(...given),
    })
  }

  transactionSync<T>(claim: TransactionClaim, work: (tx: Tx) => T): T {
    try {
      return this.#transact(claim, work)
    } finally {
      noteEnd(this.world, this.life, claim)
    }
  }

  #transact<T>(claim: TransactionClaim, work: (tx: Tx) => T): T {
    const { key, token, mark } = claim
    const { world, life } = this
    const value = work({ write: () => this.ask('write', key, '', () => true) })
    if (life.isAlive) world.ledger.onSettling({ life, key, token, askedAt: world.now })
    const code = this.ask('commit', key, `for ${token}, mark ${mark}`, () => commit(world, life, claim))
    if (code === 'committed') return value
    throw Object.assign(new Error('it was rolled back'), { code })
  }

  /** The file may be locked, full or unreadable for a while. */
  protected override beforeCall(): void {
    const { host, now } = this.world
    if (now < Math.max(host.frozenUntil, host.downUntil, host.refusesUntil)) throw new Error('the file is locked')
  }
}

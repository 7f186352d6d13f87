import type { Claim, MemoryStore, TransactionClaim } from 'postern'
import type { Grant } from './facts.ts'
import { judgeContext } from './judge-context.ts'
import type { Life } from './life.ts'
import { commit, noteEnd, type Tx } from './transactions.ts'
import { type CallWords, WatchedStore } from './watched-store.ts'
import type { World } from './world.ts'

/** The answer to a dead process. Whatever the process does with it has no effect. */
class ProcessIsDead extends Error {}

/** A store inside the process, which answers immediately. The process may die before or after each call. */
abstract class LocalStore extends WatchedStore {
  protected override ask<T>({ method, key, details }: CallWords, carryOut: () => T): T {
    if (!this.life.step()) throw new ProcessIsDead()
    judgeContext(this.world, this.world.history.findByKey(key), method)
    this.beforeCall()
    const answer = carryOut()
    this.world.say(
      this.life.name,
      () => `asks its store: ${method} ${this.world.nameKey(key)} ${details}: ${JSON.stringify(answer)}`,
    )
    if (!this.life.step()) throw new ProcessIsDead()
    return answer
  }

  protected override onGrant(grant: Grant): void {
    grant.answeredAt ??= this.world.now
  }

  /** Throws if the store cannot be reached. */
  protected abstract beforeCall(): void
}

/** The library's own memory store. It ends with its process. */
export class WatchedMemoryStore extends LocalStore {
  readonly #store: MemoryStore

  constructor(world: World, life: Life) {
    const { memoryMax, retentionMs } = world.plan.settings
    const store = world.subject.memoryStore({ max: memoryMax, retentionMs, clock: life.clock })
    super(world, life, {
      claim: (key, _token, ...rest) => store.claim(key, ...rest) as Claim, // all of its methods answer immediately
      renew: (...given) => store.renew(...given) as boolean,
      complete: (...given) => store.complete(...given) as boolean,
      release: (...given) => store.release(...given) as boolean,
    })
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
    const value = work({ write: () => this.ask({ method: 'write', key, details: '' }, () => true) })
    if (life.isAlive) world.ledger.onSettling({ life, key, token, askedAt: world.now })
    const words: CallWords = { method: 'commit', key, details: `for ${token}, mark ${mark}` }
    const code = this.ask(words, () => commit(world, life, claim))
    if (code === 'committed') return value
    throw Object.assign(new Error('it was rolled back'), { code })
  }

  /** The file may be locked, full or unreadable for a while. */
  protected override beforeCall(): void {
    const { host, now } = this.world
    if (now < Math.max(host.frozenUntil, host.downUntil, host.refusesUntil)) throw new Error('the file is locked')
  }
}

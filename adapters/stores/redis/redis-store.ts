import {
  ANY,
  type Claim,
  DEFAULT_RETENTION_MS,
  type Logger,
  OptionChecker,
  type Position,
  type Store,
  TEXT,
  whole,
} from '../../../src/engine.ts'
import { BUSY, DONE, makeTokens, NO_MARKS } from '../claims.ts'
import { LostClaims } from '../lost-claims.ts'
import { Notices } from '../notices.ts'
import { readList } from '../stored-json.ts'
import { isFromServer, type RedisClient, toNumber, toText } from './client.ts'
import { Connection } from './connection.ts'
import { OpenCalls } from './open-calls.ts'
import { makeScripts, type Script, type Scripts } from './scripts.ts'

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * A connected client of `redis` (node-redis) or `ioredis`, a single one, a pool or a cluster; or anything with `sendCommand`. The store
   * never closes it. If it gets no answer and a `duplicate()` of it does, or it leads to a replica, the store continues with the duplicate,
   * which ends when the client is closed.
   */
  readonly client: RedisClient
  /** The time for which done ids and finish marks are kept, in milliseconds. Default 7 days. A receiver refuses less than 3 hours. */
  readonly retentionMs?: number | undefined
  /** Prefix of every key. Default `postern:`. */
  readonly prefix?: string | undefined
}

/**
 * A store on Redis 5 or later, for any number of processes. A claim takes one round trip; an event is one key, which expires by itself.
 * Time is the server's. Redis should run with `appendonly yes` and `maxmemory-policy noeviction`: any other setting is reported once, after
 * the first claim.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 * @example
 * const client = createClient({ url: process.env.REDIS_URL })
 * await client.connect()
 * const receiver = createReceiver({ secret, store: redisStore({ client }) })
 */
export function redisStore(options: RedisStoreOptions): Store {
  return new RedisStore(checkOptions(options))
}

class RedisStore implements Store {
  readonly retentionMs: number
  readonly keepsPositions = true
  readonly #prefix: string
  readonly #scripts: Scripts
  readonly #calls = new OpenCalls(() => this.#connection.afterSilence())
  readonly #notices = new Notices()
  readonly #lost = new LostClaims((key, token) => this.release(key, token, NO_MARKS))
  readonly #connection: Connection
  readonly #newToken = makeTokens()
  #wasFound = false
  /** True in a cluster, once an event and its positions were found on different nodes. */
  #isApart = false

  constructor({ client, retentionMs, prefix }: ReturnType<typeof checkOptions>) {
    this.retentionMs = retentionMs
    this.#prefix = prefix
    this.#scripts = makeScripts(retentionMs)
    this.#connection = new Connection(client, prefix, this.#calls, this.#notices)
  }

  reportTo(logger: Logger): void {
    this.#notices.addLogger(logger)
  }

  claim(key: string, leaseMs: number, positionKeys: readonly string[] = []): Promise<Claim> {
    const refusal = this.#calls.refuse()
    if (refusal !== undefined) return Promise.reject(refusal)
    const token = `${this.#newToken()}.${this.#connection.switches}` // by which connection
    const claim = (keys: readonly string[]) =>
      this.#call(this.#scripts.claim, [key, ...keys], [token, String(leaseMs)], (reply) => {
        if (!this.#wasFound) this.#onFound()
        return toClaim(reply, token, keys.length > 0)
      })
    const claimApart = async () => {
      const asked = positionKeys.map((one) => this.#call(this.#scripts.position, [one], [], toPosition))
      const [claimed, ...positions] = await Promise.all([claim([]), ...asked])
      return claimed.state === 'claimed' ? { ...claimed, positions } : claimed
    }
    const asking = positionKeys.length === 0 ? claim([]) : this.#runTogether(() => claim(positionKeys), claimApart)
    return this.#lost.watch(key, token, leaseMs, asking)
  }

  renew(
    key: string,
    token: string,
    leaseMs: number,
    marks: readonly string[],
    positions?: readonly Position[],
  ): Promise<boolean> {
    return this.#tell(this.#scripts.renew, key, [token, String(leaseMs), ...marks], positions)
  }

  complete(
    key: string,
    token: string,
    positions?: readonly Position[],
    by: readonly string[] = NO_MARKS,
  ): Promise<boolean> {
    return this.#tell(this.#scripts.complete, key, [token, by.length === 0 ? '' : JSON.stringify(by)], positions)
  }

  release(key: string, token: string, marks: readonly string[], positions?: readonly Position[]): Promise<boolean> {
    // The claim, or a renewal, may still wait on the connection on which it was made. If it ran after the release, it would take the free
    // event.
    const isSwitched = !token.endsWith(`.${this.#connection.switches}`)
    return this.#tell(this.#scripts.release, key, [token, ...marks], positions, isSwitched)
  }

  forget(key: string): Promise<boolean> {
    return this.#call(this.#scripts.forget, [key], [], isOne)
  }

  /** @param positions go first if they lie apart from the event */
  #tell(
    script: Script,
    key: string,
    given: readonly string[],
    positions: readonly Position[] = [],
    runsBehind = false,
  ): Promise<boolean> {
    const tell = (kept: readonly Position[]) => {
      const keys = [key, ...kept.map((position) => position.key)]
      const words = [...given, ...kept.map(({ at }) => String(at))]
      if (runsBehind) this.#connection.runBehind(script, this.#withPrefix(keys), words)
      return this.#call(script, keys, words, isOne)
    }
    if (positions.length === 0) return tell(positions)
    const tellApart = async () => {
      await Promise.all(positions.map((one) => this.#call(this.#scripts.advance, [one.key], [String(one.at)], ignore)))
      return tell([])
    }
    return this.#runTogether(() => tell(positions), tellApart)
  }

  /** Runs one script on the keys of an event and of its positions; one script for each key if a cluster refuses that. */
  async #runTogether<T>(run: () => Promise<T>, runApart: () => Promise<T>): Promise<T> {
    try {
      if (!this.#isApart) return await run()
    } catch (error) {
      if (!/^CROSSSLOT /.test(String(Object(error).message))) throw error
      this.#isApart = true
    }
    return runApart()
  }

  #withPrefix(keys: readonly string[]): string[] {
    return keys.map((key) => this.#prefix + key)
  }

  #call<T>(script: Script, keys: readonly string[], given: string[], read: (reply: unknown) => T): Promise<T> {
    const call = this.#calls.open()
    return this.#connection.run(script, this.#withPrefix(keys), given).then(
      (reply) => {
        this.#calls.onAnswer(call)
        return read(reply)
      },
      (error: unknown) => {
        if (isFromServer(error)) this.#calls.onAnswer(call)
        else this.#calls.onGivenUp(call)
        this.#connection.afterFailure(error)
        throw error
      },
    )
  }

  /** Runs concurrently with the first claim, which does not wait for it. */
  #onFound(): void {
    this.#wasFound = true
    void this.#connection.learn()
    this.#connection.run(this.#scripts.settings, [this.#prefix], []).then(
      (reply) => {
        const info = Array.isArray(reply) ? reply.map(toText).join('\n') : ''
        for (const message of findForgetfulSettings(info)) this.#notices.warn(message)
      },
      ignore, // a server may forbid it
    )
  }
}

/** Returns the settings of a server that make it forget events, each with the fix, from its answers to INFO. */
function findForgetfulSettings(info: string): readonly string[] {
  const found: string[] = []
  if (/^aof_enabled:0/m.test(info))
    found.push(
      'Redis runs with "appendonly no": after a crash or a restart it has forgotten events, and copies of those run again. Set "appendonly yes".',
    )
  const policy = /^maxmemory_policy:([\w-]+)/m.exec(info)?.[1] ?? 'noeviction'
  if (policy !== 'noeviction')
    found.push(
      `Redis runs with "maxmemory-policy ${policy}": when its memory is full it drops events that are done or under way, and copies of those run again. Set "maxmemory-policy noeviction".`,
    )
  return found
}

function toPosition(reply: unknown): number | undefined {
  return reply === null || reply === undefined ? undefined : toNumber(reply)
}

function isOne(reply: unknown): boolean {
  return toNumber(reply) === 1
}

/** Converts a reply: 0 is busy, 1 done, and so is JSON; a list is claimed with these marks, or with lists of marks and positions. */
function toClaim(reply: unknown, token: string, hasPositions: boolean): Claim {
  if (Array.isArray(reply)) {
    const [marks, positions] = hasPositions ? reply : [reply]
    const found = hasPositions && { positions: positions.map(toPosition) }
    return { state: 'claimed', token, marks: marks.map(toText), ...found }
  }
  const code = toNumber(reply)
  if (code === 0) return BUSY
  if (code === 1) return DONE
  const by = readList<string>(toText(reply))
  if (by.length > 0) return { state: 'done', by }
  throw new Error(`Redis answered a claim with ${typeof reply}, which the script never returns.`)
}

const check = new OptionChecker('redisStore')

function checkOptions(options: RedisStoreOptions) {
  const retention = whole(1, Number.MAX_SAFE_INTEGER, 'milliseconds')
  check.mustFit(options, { client: ANY, retentionMs: retention, prefix: TEXT }, ['client'])
  const { client, retentionMs = DEFAULT_RETENTION_MS, prefix = 'postern:' } = options
  return { client, retentionMs, prefix }
}

const ignore = () => {}

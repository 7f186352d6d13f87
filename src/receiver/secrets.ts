import type { KeyObject } from 'node:crypto'
import type { Clock } from '../host/clock.ts'
import { checkEnvelope, claimedAccountOf, type ParsedEvent, parseEnvelope, parseJson } from '../protocol/envelope.ts'
import { ConfigurationError, PosternError } from '../protocol/errors.ts'
import { Rejection } from '../protocol/outcome.ts'
import { importSecret, matchesKey, type Secret } from '../protocol/signature.ts'
import { reasonOf } from './show.ts'
import { isThenable, within } from './within.ts'

/** A secret that speaks for one account only: an event of another account is refused, though its signature holds. */
export interface BoundSecret {
  readonly secret: Secret
  readonly accountKey: string
}

/** One secret, or several: all of them are tried. A bare secret speaks for any account; whoever holds it can name any. */
export type Secrets = Secret | BoundSecret | readonly (Secret | BoundSecret)[]

/** What a secrets function chooses by. */
export interface SecretRequest {
  /** What the adapter's `source` option read from the route. */
  readonly source: string | undefined
  /**
   * The account that the body claims to be from, which is NOT verified yet: the signature by that account's own secret proves it.
   * Reading this makes the receiver parse a body that anybody may have sent; leave it alone where `source` is enough.
   */
  readonly claimedAccountKey: string | undefined
}

/** Gives the secrets of one delivery; nothing means that there are none for it, and the delivery is answered 401. */
export type SecretsFunction = (
  request: SecretRequest,
) => Secrets | null | undefined | PromiseLike<Secrets | null | undefined>

const SECRETS_LIMIT_MS = 3_000
const MAX_CACHED_KEYS = 1_000

interface Entry {
  readonly key: KeyObject
  readonly accountKey: string | undefined
}

const NO_SECRET = new Rejection('unknown_source', 'The secrets function gives no secret for this source or account.')
const MISMATCH = new Rejection(
  'signature_mismatch',
  'The signature is by none of the secrets (each registration has its own), or the body was changed on the way.',
)
const OTHER_ACCOUNT = new Rejection(
  'account_mismatch',
  'The signature holds, but its secret belongs to another account than the event.',
)

/** Stops 3 to 5 of a delivery: the secrets of its source, the signature, the envelope, the account. */
export class Authenticator {
  readonly #secrets: readonly Entry[] | SecretsFunction
  readonly #clock: Clock
  /** Making a key costs as much as using it; functions give the same secrets again and again. */
  readonly #keys = new Map<string, KeyObject>()

  constructor(secret: Secrets | SecretsFunction | undefined, clock: Clock) {
    this.#clock = clock
    this.#secrets = typeof secret === 'function' ? secret : importSecrets(secret, importSecret)
  }

  /**
   * The verified event of a body, or why there is none.
   *
   * @param deadline of the delivery, on the monotonic clock
   * @throws PosternError `secrets_unavailable`, by throwing or by rejecting
   */
  authenticate(
    body: Uint8Array,
    signature: string,
    source: string | undefined,
    deadline: number,
  ): ParsedEvent | Rejection | Promise<ParsedEvent | Rejection> {
    const choose = this.#secrets
    if (typeof choose !== 'function') return check(body, signature, choose)
    const request = new LazySecretRequest(body, source)
    let chosen: ReturnType<SecretsFunction>
    try {
      chosen = choose(request)
      if (isThenable(chosen)) return this.#awaitChosen(request, signature, chosen, deadline)
    } catch (error) {
      throw unavailable(error)
    }
    return this.#checkChosen(request, signature, chosen)
  }

  async #awaitChosen(
    request: LazySecretRequest,
    signature: string,
    chosen: PromiseLike<Secrets | null | undefined>,
    deadline: number,
  ): Promise<ParsedEvent | Rejection> {
    const limitMs = Math.min(SECRETS_LIMIT_MS, Math.max(deadline - this.#clock.monotonic(), 0))
    let secrets: Secrets | null | undefined
    try {
      secrets = await within(this.#clock, limitMs, 'The secrets function', chosen)
    } catch (error) {
      throw unavailable(error)
    }
    return this.#checkChosen(request, signature, secrets)
  }

  #checkChosen(
    request: LazySecretRequest,
    signature: string,
    secrets: Secrets | null | undefined,
  ): ParsedEvent | Rejection {
    if (secrets == null) return NO_SECRET
    let entries: readonly Entry[]
    try {
      entries = importSecrets(secrets, (secret) => this.#keyOf(secret))
    } catch (error) {
      throw unavailable(error)
    }
    return check(request.body, signature, entries, request.json)
  }

  #keyOf(secret: unknown): KeyObject {
    if (typeof secret !== 'string') return importSecret(secret)
    let key = this.#keys.get(secret)
    if (key === undefined) {
      key = importSecret(secret)
      if (this.#keys.size >= MAX_CACHED_KEYS) this.#keys.clear()
      this.#keys.set(secret, key)
    }
    return key
  }
}

function check(
  body: Uint8Array,
  signature: string,
  entries: readonly Entry[],
  json?: unknown,
): ParsedEvent | Rejection {
  let accounts: 'any' | readonly string[] | undefined
  for (const { key, accountKey } of entries) {
    if (!matchesKey(body, signature, key)) continue
    if (accountKey === undefined) accounts = 'any'
    else if (accounts !== 'any') accounts = accounts === undefined ? [accountKey] : [...accounts, accountKey]
  }
  if (accounts === undefined) return MISMATCH
  const event = json === undefined ? parseEnvelope(body) : json instanceof Rejection ? json : checkEnvelope(json)
  if (event instanceof Rejection || accounts === 'any' || accounts.includes(event.accountKey)) return event
  return OTHER_ACCOUNT
}

/** Parses the unverified body only when, and only once, the secrets function asks for the account. */
class LazySecretRequest implements SecretRequest {
  readonly source: string | undefined
  readonly body: Uint8Array
  /** Undefined, which no JSON is, until the account was asked for. */
  json: unknown

  constructor(body: Uint8Array, source: string | undefined) {
    this.body = body
    this.source = source
  }

  get claimedAccountKey(): string | undefined {
    if (this.json === undefined) this.json = parseJson(this.body)
    return claimedAccountOf(this.json)
  }
}

function importSecrets(secrets: Secrets | undefined, toKey: (secret: unknown) => KeyObject): readonly Entry[] {
  // Array.isArray does not narrow a readonly array by itself.
  const entries = Array.isArray(secrets) ? (secrets as readonly (Secret | BoundSecret)[]) : [secrets]
  if (entries.length === 0)
    throw new ConfigurationError(
      'secret_unusable',
      'The list of secrets is empty: no signature could hold. Give the secret that the service showed when the webhook was registered.',
    )
  return entries.map((entry) => {
    if (typeof entry !== 'object' || entry === null || entry instanceof Uint8Array)
      return { key: toKey(entry), accountKey: undefined }
    // Plain JavaScript can leave any of the two out, or misspell it.
    const { secret, accountKey, ...unknown } = entry as Partial<BoundSecret>
    const [stray] = Object.keys(unknown)
    if (stray !== undefined)
      throw new ConfigurationError(
        'secret_unusable',
        `A bound secret is { secret, accountKey }; it has no field "${stray}".`,
      )
    if (typeof accountKey !== 'string' || accountKey === '')
      throw new ConfigurationError(
        'secret_unusable',
        'A bound secret needs its accountKey: { secret, accountKey }. For a secret of any account give the secret itself.',
      )
    return { key: toKey(secret), accountKey }
  })
}

function unavailable(cause: unknown): PosternError {
  return new PosternError('secrets_unavailable', `The secrets function failed: ${reasonOf(cause)}`, { cause })
}

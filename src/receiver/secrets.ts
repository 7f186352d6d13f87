import { waitFor } from '../host/wait-for.ts'
import { importSecrets, type SecretRequest, type Secrets, type VerificationKey } from '../protocol/authenticate.ts'
import { claimedAccountOf } from '../protocol/envelope.ts'
import { PosternError } from '../protocol/errors.ts'
import { Rejection } from '../protocol/outcome.ts'
import { ignoreRejection, isThenable } from '../protocol/promises.ts'
import { reasonOf, show } from '../protocol/show.ts'
import { cacheKeys } from '../protocol/signature.ts'
import type { EventRequest } from './run.ts'
import type { Shared } from './shared.ts'

const SECRETS_LIMIT_MS = 3_000
const MAX_CACHED_KEYS = 1_000

const NO_SECRET = new Rejection('unknown_source', 'The secrets function returned no secret for this source or account.')
const NO_SOURCE = new Rejection(
  'unknown_source',
  'The secrets function returned no secret, since the source is undefined. Give the adapter a source option that returns text; a child router sees the parameters of its parent only with mergeParams: true.',
)

/** The keys of a delivery, or the reason that there are none. */
export type Keys = readonly VerificationKey[] | Rejection | PosternError

/**
 * Stop 3: returns a function that finds the keys that may have signed a body: a rejection if there are none, and an error if the owner's
 * function failed.
 */
export function createKeySource(shared: Shared): (body: Uint8Array, delivery: EventRequest) => Keys | Promise<Keys> {
  const { settings } = shared
  const { secret: choose, protocol } = settings
  const cached = { ...protocol, importSecret: cacheKeys(MAX_CACHED_KEYS, protocol.importSecret) }
  const importKeys = (request: LazySecretRequest, secrets: Secrets | null | undefined): Keys => {
    try {
      if (secrets == null) return request.lacksSource ? NO_SOURCE : NO_SECRET
      const keys = importSecrets(secrets, cached)
      return request.wasRead && keys.some(({ accountKey }) => accountKey === undefined) ? unbound() : keys
    } catch (error) {
      return unavailable(error)
    } finally {
      request.forget()
    }
  }
  return (body, delivery) => {
    if (typeof choose !== 'function') return choose
    // The body of another sender claims no account.
    const request = new LazySecretRequest(protocol.sender === undefined ? body : undefined, delivery.source)
    const fail = (cause: unknown) => {
      request.forget()
      return unavailable(cause)
    }
    try {
      const chosen = choose(request)
      if (!isThenable(chosen)) return importKeys(request, chosen)
      const limitMs = Math.min(SECRETS_LIMIT_MS, Math.max(delivery.deadline - settings.clock.monotonic(), 0))
      const toKeys = (secrets: Secrets | null | undefined) => importKeys(request, secrets)
      return waitFor<Secrets | null | undefined, Keys>(settings.clock, chosen, limitMs, toKeys, fail)
    } catch (error) {
      return fail(error)
    }
  }
}

function unavailable(cause: unknown): PosternError {
  return new PosternError('secrets_unavailable', `The secrets function failed: ${reasonOf(cause)}`, { cause })
}

function unbound(): PosternError {
  return new PosternError(
    'secret_unbound',
    'The secrets function chose by source or claimedAccountKey, and returned a secret that is not bound to an account: its owner could sign events of every other account. Return { secret, accountKey }.',
  )
}

/** Parses the body only if the function reads the account, and keeps nothing else of it. */
class LazySecretRequest implements SecretRequest {
  /** True if the function read a property that tells tenants apart. */
  wasRead = false
  /** True if the function read a source that is undefined. */
  lacksSource = false
  #body: Uint8Array | undefined
  #claimed: string | undefined
  readonly #source: string | undefined

  constructor(body: Uint8Array | undefined, source: string | undefined) {
    this.#body = body
    this.#source = source
  }

  get source(): string | undefined {
    this.wasRead = true
    this.lacksSource = this.#source === undefined
    return this.#source
  }

  get claimedAccountKey(): string | undefined {
    this.wasRead = true
    if (this.#body !== undefined) this.#claimed = claimedAccountOf(this.#body)
    this.forget()
    return this.#claimed
  }

  /** Releases the body, even if the function continues after its time limit. */
  forget(): void {
    this.#body = undefined
  }
}

/** Returns the source of a delivery, or an error if the app's function failed. */
export function toSource(what: string, read: () => unknown): string | undefined | PosternError {
  try {
    const source = read()
    if (source === undefined || typeof source === 'string') return source
    ignoreRejection(source)
    throw new TypeError(`it is ${show(source)}, not text`)
  } catch (cause) {
    return new PosternError('secrets_unavailable', `${what} failed: ${reasonOf(cause)}.`, { cause })
  }
}

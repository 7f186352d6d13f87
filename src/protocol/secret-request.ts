import type { SecretRequest } from './authenticate.ts'
import { claimedAccountOf } from './envelope.ts'
import { PosternError } from './errors.ts'
import { ignoreRejection } from './promises.ts'
import { reasonOf, show } from './show.ts'

/** Parses the body only if the function reads the account, and keeps nothing else of it. */
export class LazySecretRequest implements SecretRequest {
  /** True if the function read a property that tells tenants apart. */
  wasRead = false
  #body: Uint8Array | undefined
  #claimed: string | undefined
  readonly #source: string | undefined

  constructor(body: Uint8Array, source: string | undefined) {
    this.#body = body
    this.#source = source
  }

  get source(): string | undefined {
    this.wasRead = true
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

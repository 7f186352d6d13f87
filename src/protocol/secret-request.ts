import type { SecretRequest } from './authenticate.ts'
import { claimedAccountOf, parseJson } from './envelope.ts'

/** Parses the body if the function asks for the account, and keeps nothing else of it. */
export class LazySecretRequest implements SecretRequest {
  /** Whether the function looked at what tells tenants apart. */
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
    if (this.#body !== undefined) this.#claimed = claimedAccountOf(parseJson(this.#body))
    this.forget()
    return this.#claimed
  }

  /** Lets go of the body, also if the function goes on after it was given up. */
  forget(): void {
    this.#body = undefined
  }
}

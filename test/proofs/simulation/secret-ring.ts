import { createHmac } from 'node:crypto'
import type { SecretRequest, Secrets } from 'postern'
import type { SecretsFunction } from '../../../src/protocol/authenticate.ts'
import { ACCOUNTS, type Plan } from './plan.ts'

/** Old and new secret are both accepted for this long before and after the sender changes to the new one. */
const OVERLAP_MS = 60_000
/** Prefix of every secret, which must never be in a log line or a hook's argument. */
export const SECRET_PREFIX = 'whsec_'

/** The secrets of the accounts: those with which the sender signs, and those that the receivers accept. */
export class SecretRing {
  /** The current fault of the secrets function. */
  trouble: 'throws' | 'hangs' | 'is slow' | undefined
  readonly #signatures = new Map<string, string>()
  readonly #plan: Plan
  readonly #now: () => number

  constructor(plan: Plan, now: () => number) {
    this.#plan = plan
    this.#now = now
  }

  /** Signs as the service does, without the library. */
  sign(body: string, account: string): string {
    const { form, rotatesAt } = this.#plan.secrets
    const version = rotatesAt !== undefined && this.#now() >= rotatesAt ? 1 : 0
    const secret = toSecret(isBound(form) ? account : 'any', version)
    const known = this.#signatures.get(secret + body)
    if (known !== undefined) return known
    const signature = signBy(body, secret)
    this.#signatures.set(secret + body, signature)
    return signature
  }

  /** Signs with the secret that was retired. */
  signByRetired(body: string, account: string): string {
    return signBy(body, toSecret(isBound(this.#plan.secrets.form) ? account : 'any', 0))
  }

  /** Returns the secrets for `createReceiver`. `sleep` passes time in the process that asks. */
  toOption(sleep: (ms: number) => Promise<void>): Secrets | SecretsFunction {
    const { form, isAsync } = this.#plan.secrets
    if (form === 'one') return toSecret('any', 0)
    if (form === 'list') return this.#versions(true).map((version) => toSecret('any', version))
    if (form === 'bound') return ACCOUNTS.flatMap((account) => this.#bound(account, true))
    return (request) => {
      if (this.trouble === 'throws') throw new Error('the vault of secrets is closed')
      const secrets = this.#choose(request)
      if (this.trouble === 'hangs') return new Promise(() => {})
      if (this.trouble === 'is slow') return sleep(2_000).then(() => secrets)
      return isAsync ? sleep(5).then(() => secrets) : secrets
    }
  }

  #choose(request: SecretRequest): Secrets | undefined {
    if (this.#plan.secrets.form === 'function') return this.#versions(false).map((version) => toSecret('any', version))
    const account = ACCOUNTS.find((each) => each === request.claimedAccountKey)
    return account && this.#bound(account, false)
  }

  #bound(accountKey: string, isForGood: boolean): { readonly secret: string; readonly accountKey: string }[] {
    return this.#versions(isForGood).map((version) => ({ secret: toSecret(accountKey, version), accountKey }))
  }

  /** Returns the accepted versions: all that will ever exist, or the current ones. */
  #versions(isForGood: boolean): readonly number[] {
    const { rotatesAt } = this.#plan.secrets
    if (rotatesAt === undefined) return [0]
    if (isForGood || Math.abs(this.#now() - rotatesAt) <= OVERLAP_MS) return [0, 1]
    return [this.#now() < rotatesAt ? 0 : 1]
  }
}

function isBound(form: Plan['secrets']['form']): boolean {
  return form === 'bound' || form === 'function of the account'
}

function toSecret(account: string, version: number): string {
  return `${SECRET_PREFIX}${account}_version_${version}`
}

/** Signs a body with a secret. */
export function signBy(body: string, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

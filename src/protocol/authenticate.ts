import type { KeyObject } from 'node:crypto'
import type { Envelope } from './envelope.ts'
import { ConfigurationError } from './errors.ts'
import { Rejection } from './outcome.ts'
import { isThenable } from './promises.ts'
import type { Protocol } from './protocol.ts'
import { quote } from './show.ts'
import { importAll, type Secret } from './signature.ts'

/** A secret that speaks for one account only: an event of another account is refused, though its signature holds. */
export interface BoundSecret {
  readonly secret: Secret
  readonly accountKey: string
}

/** One secret, or several: all of them are tried. A bare secret is valid for any account: its holder can name any. */
export type Secrets = Secret | BoundSecret | readonly (Secret | BoundSecret)[]

/**
 * The request of a secrets function. A function that reads either of the two has chosen a tenant, and must return bound secrets:
 * with a bare one that tenant could sign the events of any other.
 */
export interface SecretRequest {
  /** The value of the adapter's `source` option. */
  readonly source: string | undefined
  /**
   * The account that the body claims to be from, which is NOT verified yet: the signature by that account's own secret proves it.
   * Reading this makes the receiver parse a body that anyone may have sent; leave it alone if `source` is enough.
   * Read it before the function answers: afterwards the body is released, and this is undefined unless it was read before.
   */
  readonly claimedAccountKey: string | undefined
}

/** Returns the secrets of one delivery; nothing means that there are none for it, and the delivery is answered 401. */
export type SecretsFunction = (
  request: SecretRequest,
) => Secrets | null | undefined | PromiseLike<Secrets | null | undefined>

/** An imported secret, and the account that it is bound to, if any. */
export interface VerificationKey {
  readonly key: KeyObject
  readonly accountKey: string | undefined
}

const MISMATCH = new Rejection(
  'signature_mismatch',
  'The signature was made with none of the secrets (each registration has its own), or the body was changed on the way.',
)

/** Returns the event of a body that a key of its account, or of no account, signed: stops 4 and 5. Every key is tried before anything is decoded. */
export function authenticate(
  body: Uint8Array,
  head: unknown,
  keys: readonly VerificationKey[],
  protocol: Protocol,
): Envelope | Rejection {
  let accounts: 'any' | readonly string[] | undefined
  for (const { key, accountKey } of keys) {
    if (!protocol.matches(body, head, key)) continue // 4
    if (accountKey === undefined) accounts = 'any'
    else if (accounts !== 'any') accounts = accounts === undefined ? [accountKey] : [...accounts, accountKey]
  }
  if (accounts === undefined) return MISMATCH
  const parsed = protocol.parse(body, head) // 5
  if (parsed instanceof Rejection || accounts === 'any' || accounts.includes(parsed.event.accountKey)) return parsed
  return refuseOther(accounts, parsed.event.accountKey)
}

function refuseOther(accounts: readonly string[], accountKey: string): Rejection {
  const own = accounts.map(quote).join(', ')
  const reason = `The signature is valid, but its secret belongs to another account (${own}) than the event (${quote(accountKey)}).`
  return new Rejection('account_mismatch', reason)
}

/**
 * Imports all secrets.
 *
 * @throws ConfigurationError `secret_unusable`
 */
export function importSecrets(
  secrets: Secrets | undefined,
  protocol: Pick<Protocol, 'importSecret' | 'secretHint'>,
): readonly VerificationKey[] {
  // Array.isArray does not narrow a readonly array by itself.
  const entries = Array.isArray(secrets) ? (secrets as readonly (Secret | BoundSecret)[]) : [secrets]
  if (entries.length === 0)
    throw new ConfigurationError(
      'secret_unusable',
      `The list of secrets is empty, so no signature could be valid. Give it the signing secret. ${protocol.secretHint}`,
    )
  return importAll(entries, (entry) => importEntry(entry, protocol.importSecret))
}

function importEntry(entry: unknown, toKey: (secret: unknown) => KeyObject): VerificationKey {
  const isOther = Object.prototype.toString.call(entry) !== '[object Object]'
  if (typeof entry !== 'object' || entry === null || isOther || isThenable(entry))
    return { key: toKey(entry), accountKey: undefined }
  // Plain JavaScript can omit or misspell either field.
  const { secret, accountKey, ...unknown } = entry as Partial<BoundSecret>
  const [stray] = Object.keys(unknown)
  if (stray !== undefined)
    throw new ConfigurationError(
      'secret_unusable',
      `A bound secret is { secret, accountKey }; it has no field "${stray}". Those of several accounts are a list.`,
    )
  if (typeof accountKey !== 'string' || accountKey.trim() !== accountKey || accountKey === '')
    throw new ConfigurationError(
      'secret_unusable',
      isThenable(accountKey)
        ? 'The accountKey of a bound secret is a promise: await it.'
        : 'A bound secret needs its accountKey, without blanks around it: { secret, accountKey }. For a secret of any account give the secret itself.',
    )
  return { key: toKey(secret), accountKey }
}

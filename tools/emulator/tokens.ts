import { randomBytes } from 'node:crypto'
import { sign, verify } from 'hono/jwt'
import type { Clock } from '../../src/host/clock.ts'
import type { Account, Accounts } from './accounts.ts'
import type { Assumed } from './assumptions.ts'
import type { Journal } from './journal.ts'

const OPAQUE = 'opaque_'
/** Name of the stored key: with it, tokens stay valid after a restart. */
const KEY = 'token key'

export interface TokensParts {
  readonly clock: Pick<Clock, 'now'>
  readonly accounts: Accounts
  readonly journal: Journal
  readonly ttlMs: number
  readonly assumed: Assumed
}

/** The caller of the service's API. */
export interface Caller {
  readonly account: Account
  readonly token: string
}

/** Creates what issues access tokens, and finds the account of a token. */
export function createTokens({ clock, accounts, journal, ttlMs, assumed }: TokensParts) {
  const kept = journal.loadMeta<string>(KEY)
  const key = kept ?? randomBytes(32).toString('hex')
  if (kept === undefined) journal.save('meta', KEY, key)
  return {
    /** Makes the answer to a login. Service text, section 2.2. */
    async issue({ key: accountKey, email }: Account) {
      const now = clock.now()
      const expiresAt = now + ttlMs
      const iat = Math.floor(now / 1_000)
      const exp = iat + Math.ceil(ttlMs / 1_000)
      const isRenamed = assumed.tokenForm === 'renamed'
      const claims = isRenamed ? { user: email, tenant: accountKey, exp } : { sub: email, accountKey, iat, exp }
      // Makes two logins at the same time differ. Holds the exact expiry, since `exp` counts in whole seconds.
      const jti = `${expiresAt}-${randomBytes(6).toString('hex')}`
      const token = await sign({ ...claims, jti }, key, 'HS256')
      const accessToken = assumed.tokenForm === 'opaque' ? OPAQUE + Buffer.from(token).toString('base64url') : token
      const expiries = {
        seconds: ttlMs / 1_000,
        milliseconds: ttlMs,
        'epoch-seconds': exp,
        'epoch-milliseconds': expiresAt,
      }
      return { accessToken, expiresIn: expiries[assumed.expiresInUnit] }
    },
    /** Returns the account of a token, or the reason why there is none. */
    async resolve(header: string | undefined): Promise<Caller | string> {
      const [, token] = /^Bearer +(\S+)$/i.exec(header ?? '') ?? []
      if (token === undefined) return 'the request carries no bearer token'
      const claims = await readClaims(token, key)
      if (claims === undefined) return 'the token is invalid'
      const expiresAt = Number.parseFloat(String(claims.jti))
      if (!(expiresAt > clock.now())) return 'the token has expired'
      const account = accounts.find(String(claims.accountKey ?? claims.tenant))
      return account === undefined ? 'the account of the token does not exist' : { account, token }
    },
  }
}

async function readClaims(token: string, key: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const jwt = token.startsWith(OPAQUE) ? Buffer.from(token.slice(OPAQUE.length), 'base64url').toString() : token
  try {
    // The emulator checks the times by its own clock, which may be a manual one.
    return await verify(jwt, key, { alg: 'HS256', exp: false, iat: false, nbf: false })
  } catch {
    return undefined
  }
}

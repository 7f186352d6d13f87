import * as z from 'zod'

/** Limit above which a lifetime is read as milliseconds. A misread lifetime is too short, which costs a login. */
const MAX_SECONDS = 100_000

/**
 * Computes the lifetime of a token in milliseconds from its issue: from its own `exp` if it is a JWT, otherwise from `expiresIn` in any
 * unit. Undefined if neither makes sense; then only a 401 shows that the token expired.
 *
 * @param now local time
 */
export function tokenLifetime(token: string, expiresIn: number | undefined, now: number): number | undefined {
  const { exp, iat } = readClaims(token)
  const byClaims = toEpochMs(exp) - (iat === undefined ? now : toEpochMs(iat))
  return [byClaims, toLifetime(expiresIn ?? 0, now)].find((ms) => ms > 0)
}

function toLifetime(value: number, now: number): number {
  if (value > 1e9) return toEpochMs(value) - now
  return value > MAX_SECONDS ? value : value * 1_000
}

function toEpochMs(value: number): number {
  return value > 1e12 ? value : value * 1_000
}

const claims = z.object({ exp: z.number(), iat: z.number().optional().catch(undefined) })
const NO_CLAIMS: z.infer<typeof claims> = { exp: 0 }

/** Reads the times in a JWT. They need no trust: a wrong time causes an early login or a 401. */
function readClaims(token: string): z.infer<typeof claims> {
  const [, payload = ''] = token.split('.')
  try {
    return claims.parse(JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))))
  } catch {
    return NO_CLAIMS
  }
}

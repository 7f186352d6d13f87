import * as z from 'zod'

/** Above this a lifetime is in milliseconds. One that is misread comes out too short, which costs a login. */
const MAX_SECONDS = 100_000

/**
 * How long a token lasts, in milliseconds from its issue: by its own `exp` where it is a JWT, else by `expiresIn`, whatever the unit.
 * Undefined where neither makes sense; then the 401 tells.
 *
 * @param now our own time
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

/** The times in a JWT. Nothing of it is trusted: a wrong time makes us log in too early, or be told by a 401. */
function readClaims(token: string): z.infer<typeof claims> {
  const [, payload = ''] = token.split('.')
  try {
    return claims.parse(JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))))
  } catch {
    return NO_CLAIMS
  }
}

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
  const candidates = [exp === undefined ? undefined : toEpochMs(exp) - (iat === undefined ? now : toEpochMs(iat))]
  if (expiresIn !== undefined) candidates.push(toLifetime(expiresIn, now))
  return candidates.find((ms) => ms !== undefined && ms > 0)
}

function toLifetime(value: number, now: number): number {
  if (value > 1e9) return toEpochMs(value) - now
  return value > MAX_SECONDS ? value : value * 1_000
}

function toEpochMs(value: number): number {
  return value > 1e12 ? value : value * 1_000
}

interface Claims {
  readonly exp?: number
  readonly iat?: number
}

/** The times in a JWT. Nothing of it is trusted: a wrong time makes us log in too early, or be told by a 401. */
function readClaims(token: string): Claims {
  const [, payload, signature] = token.split('.')
  if (payload === undefined || signature === undefined) return {}
  try {
    const claims: unknown = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')))
    if (typeof claims !== 'object' || claims === null) return {}
    return { ...timeIn(claims, 'exp'), ...timeIn(claims, 'iat') }
  } catch {
    return {}
  }
}

function timeIn(claims: object, name: 'exp' | 'iat'): Claims {
  const value = Object.hasOwn(claims, name) ? Reflect.get(claims, name) : undefined
  return typeof value === 'number' && Number.isFinite(value) ? { [name]: value } : {}
}

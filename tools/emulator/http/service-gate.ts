import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context, MiddlewareHandler } from 'hono'
import type { RateStanding } from '../rate-limit.ts'
import { Refusal } from '../refusal.ts'
import type { Service } from '../service.ts'
import type { Caller } from '../tokens.ts'
import { addressOf, type Env } from './env.ts'

const LOGIN = '/api/identity/auth/login'

/** Thrown to callers in the same process in place of a cut connection. */
export class ConnectionCut extends Error {
  override readonly name = 'ConnectionCut'
}

/** Creates the middleware of every endpoint: rate limits (service text, section 8), requested faults, and tokens (section 5). */
export function createServiceGate(service: Service): MiddlewareHandler<Env> {
  const { settings, tokens, rate, loginRate } = service
  const { assumed } = settings
  return async (c, next) => {
    const isLogin = c.req.path === LOGIN
    const found = isLogin ? undefined : await tokens.resolve(c.req.header('authorization'))
    const caller = typeof found === 'string' ? undefined : found
    const standing = (isLogin ? loginRate : rate).take(nameCaller(c, caller))
    if (caller !== undefined) c.set('account', caller.account)
    c.set('rate', standing)
    c.header('cache-control', 'no-store')
    if (standing.isExceeded) throw new Refusal('rate-limit', 'too many requests; wait until the window ends')
    const cut = await sufferFault(c)
    if (cut !== undefined) return cut
    if (typeof found === 'string') throw new Refusal('unauthorized', found)
    return next()
  }

  /** Names the caller for the rate limit. Requests without a valid token are counted by address. */
  function nameCaller(c: Context<Env>, caller: Caller | undefined): string {
    if (caller === undefined || assumed.rateScope === 'address') return `address ${addressOf(c)}`
    return assumed.rateScope === 'account' ? `account ${caller.account.key}` : `token ${caller.token}`
  }

  async function sufferFault(c: Context<Env>): Promise<Response | undefined> {
    const fault = service.faults.takeAnswer()
    if (fault === undefined) return undefined
    if (fault.answer === 'reset') return cutConnection(c)
    if (fault.answer !== 'slow') throw new Refusal(KIND_OF_FAULT[fault.answer], 'refused by a fault of the emulator')
    await service.engine.wait(fault.delayMs)
    return undefined
  }
}

const KIND_OF_FAULT = { 401: 'unauthorized', 429: 'rate-limit', 500: 'fault' } as const

function cutConnection(c: Context<Env>): Response {
  const socket = c.env?.incoming?.socket
  if (socket === undefined) throw new ConnectionCut('the connection was cut by a fault of the emulator')
  socket.destroy()
  return RESPONSE_ALREADY_SENT
}

/** Returns the rate limit headers for answers that carry them (A24, A25, A26). */
export function rateHeaders(
  standing: RateStanding,
  status: number,
  { settings, clock }: Service,
): Readonly<Record<string, string>> {
  const { assumed } = settings
  const secondsLeft = Math.max(0, Math.ceil((standing.resetAt - clock.now()) / 1_000))
  const retryAfter = { seconds: String(secondsLeft), date: new Date(standing.resetAt).toUTCString(), absent: undefined }
  const retry = status === 429 ? retryAfter[assumed.retryAfter] : undefined
  const headers: Record<string, string> = retry === undefined ? {} : { 'Retry-After': retry }
  if (assumed.rateHeaders === 'none') return headers
  if (assumed.rateHeaders === 'success' && (status < 200 || status > 299)) return headers
  const resets = {
    'epoch-seconds': Math.ceil(standing.resetAt / 1_000),
    'seconds-left': secondsLeft,
    'epoch-milliseconds': Math.ceil(standing.resetAt),
  }
  return {
    ...headers,
    'X-RateLimit-Limit': String(standing.limit),
    'X-RateLimit-Remaining': String(standing.remaining),
    'X-RateLimit-Reset': String(resets[assumed.rateResetUnit]),
  }
}

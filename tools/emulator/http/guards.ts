import type { MiddlewareHandler } from 'hono'
import { Refusal } from '../refusal.ts'
import type { Env } from './env.ts'

/** Options of the headers that every answer has. HSTS would keep a browser from other servers of this machine that speak plain HTTP. */
export const HEADERS = { xFrameOptions: 'DENY', strictTransportSecurity: false } as const

const LOOPBACK = /^(localhost|[a-z0-9-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i

/**
 * Keeps web pages out. A page can send requests to loopback, and with a custom DNS name for it (DNS rebinding) even read the answers.
 * The name in `Host` must therefore be a loopback name, or an allowed one.
 */
export function guardHost(
  hostAllow: readonly string[],
  hint = 'allow it with hostAllow, or --host-allow',
): MiddlewareHandler<Env> {
  const allowed = hostAllow.map((name) => name.toLowerCase())
  return async (c, next) => {
    const host = c.req.header('host') ?? 'localhost'
    const name = host.replace(/:\d+$/, '').toLowerCase()
    if (!(LOOPBACK.test(name) || allowed.includes(name)) || !URL.canParse(`http://${host}`))
      throw new Refusal('forbidden', `this server does not answer to the name ${JSON.stringify(host)}; ${hint}`)
    await next()
  }
}

/** Refuses calls from other origins. No route sends a CORS header. */
export function guardOrigin(): MiddlewareHandler<Env> {
  return async (c, next) => {
    const origin = c.req.header('origin')
    if (origin !== undefined && origin !== new URL(c.req.url).origin)
      throw new Refusal('forbidden', `requests of pages at ${origin} are refused`)
    // An image or a script on another page sends no Origin, and could use up the connections of the stream.
    const site = c.req.header('sec-fetch-site') ?? 'none'
    if (site !== 'same-origin' && site !== 'none')
      throw new Refusal('forbidden', 'requests of pages at other addresses are refused')
    await next()
  }
}

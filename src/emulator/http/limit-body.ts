import type { MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { Refusal } from '../refusal.ts'
import { LIMITS } from '../service.ts'
import type { Env } from './env.ts'

/** Refuses bodies that are too large, from their declared length or while they are read. */
export function limitBody(): MiddlewareHandler<Env> {
  const limit = bodyLimit({
    maxSize: LIMITS.bodyBytes,
    onError: () => {
      throw new Refusal('too-large', `a body has ${LIMITS.bodyBytes} bytes at most`)
    },
  })
  return async (c, next) => {
    if (c.env?.incoming !== undefined) {
      if (!hasBody(c.req.raw.headers)) return next()
      // The server's requests only look like one, unless it may replace the global Request, which is not ours to replace.
      const { url, method, headers, body } = c.req.raw
      c.req.raw = new Request(url, { method, headers, body, duplex: 'half' })
    }
    return limit(c, next)
  }
}

function hasBody(headers: Headers): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0
}

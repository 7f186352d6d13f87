import { randomBytes } from 'node:crypto'
import { Hono } from 'hono'
import type { Env } from '../http/env.ts'

const NONCE = /__NONCE__/g

/** Subject of the page: an emulator, with the inbox of its receiver if there is one, or an inbox alone. */
type Subject = 'emulator' | 'inbox'

/** Serves the page. It loads nothing but the answers of the routes beside it. */
export function createPageRoute(subject: Subject): Hono<Env> {
  const app = new Hono<Env>()
  app.get('/', async (c) => {
    const { loadPage } = await import('./load-page.ts')
    const nonce = randomBytes(18).toString('base64url')
    c.header('content-security-policy', policyOf(nonce))
    c.header('cache-control', 'no-store')
    return c.html((await loadPage()).replace(NONCE, nonce).replace('__SUBJECT__', subject))
  })
  return app
}

/** Prevents text from becoming markup or a script: even the page's own code may not create them. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

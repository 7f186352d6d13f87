import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type Context, Hono } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { secureHeaders } from 'hono/secure-headers'
import type { Env } from '../http/env.ts'
import { guardHost, guardOrigin, HEADERS } from '../http/guards.ts'
import { listen, stop, urlOf } from '../http/listen.ts'
import type { InboxView } from '../options.ts'
import { Refusal, STATUS_OF, showError } from '../refusal.ts'
import { createInboxRoutes } from './inbox-routes.ts'
import { createPageRoute } from './page-route.ts'

export interface InboxServer extends AsyncDisposable {
  readonly url: string
}

interface InboxServerOptions {
  readonly port: number
  /** Secret that opens the page. Default: a random one. */
  readonly token?: string | undefined
  readonly isWritable: boolean
  readonly onAction: (action: 'replay' | 'drop', key: string) => void
  readonly onFault: (error: unknown) => void
}

/** Only this machine can connect; others need a tunnel to it. */
const HOST = '127.0.0.1'

/** @throws ConfigurationError `port_in_use` */
export async function serveInbox(inbox: InboxView, options: InboxServerOptions): Promise<InboxServer> {
  const token = options.token ?? randomBytes(24).toString('base64url')
  const server = await listen(createInboxApp(inbox, { ...options, token }).fetch, {
    port: options.port,
    host: HOST,
    owner: "The inbox's page",
  })
  const url = `${urlOf(server, HOST)}/_inspector?token=${encodeURIComponent(token)}`
  return { url, [Symbol.asyncDispose]: () => stop(server) }
}

function createInboxApp(
  inbox: InboxView,
  { token, isWritable, onAction, onFault }: InboxServerOptions & { readonly token: string },
): Hono<Env> {
  const app = new Hono<Env>()
  const refuse = (c: Context<Env>, refusal: Refusal) => {
    const status = STATUS_OF[refusal.kind]
    if (!c.req.path.startsWith('/_inspector/inbox')) return c.text(`${refusal.message}\n`, status)
    return c.body(showError(refusal, status, 'flat')?.body ?? '', status, { 'content-type': 'application/json' })
  }
  app.use(secureHeaders(HEADERS))
  app.use(guardHost([], 'open it as localhost'))
  app.use('/_inspector/inbox/*', guardOrigin())
  app.use(async (c, next) => {
    const given = c.req.query('token')
    if (given === undefined) {
      if (!isSame(getCookie(c, nameCookie(c)) ?? '', token)) throw new Refusal('unauthorized', NO_TOKEN)
      return next()
    }
    // A wrong token does not end a session, since any page can lead a browser to this address with one.
    if (!isSame(given, token)) throw new Refusal('unauthorized', NO_TOKEN)
    // The token leaves the address, so that a copied address does not contain it.
    setCookie(c, nameCookie(c), token, { httpOnly: true, sameSite: 'Lax', path: '/_inspector' })
    return c.redirect('/_inspector', 303)
  })
  app.route('/_inspector/inbox', createInboxRoutes(inbox, { isWritable, onAction }))
  app.route('/_inspector', createPageRoute('inbox'))
  app.notFound((c) => refuse(c, new Refusal('unknown', 'there is nothing at this address')))
  app.onError((error, c) => {
    if (error instanceof Refusal) return refuse(c, error)
    onFault(error)
    return refuse(c, new Refusal('fault', 'the server failed; the terminal in which it runs shows the error'))
  })
  return app
}

const NO_TOKEN = 'open the link that `npx postern inbox serve` printed at its start: it contains the token'

/** Names the cookie by the port, since a browser sends the cookies of a host to all of its ports. */
function nameCookie(c: Context<Env>): string {
  return `postern-inbox-${new URL(c.req.url).port}`
}

function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)]
  return one.length === other.length && timingSafeEqual(one, other)
}

import { type Context, Hono } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { secureHeaders } from 'hono/secure-headers'
import { PosternError } from '../../../src/protocol/errors.ts'
import { createInboxRoutes } from '../inspector/inbox-routes.ts'
import { createPageRoute } from '../inspector/page-route.ts'
import { assumedStatusOf, Refusal, STATUS_OF, showError } from '../refusal.ts'
import type { Service } from '../service.ts'
import { createControlRoutes } from './control-routes.ts'
import type { Env } from './env.ts'
import { guardHost, guardOrigin, HEADERS } from './guards.ts'
import { ConnectionCut, createServiceGate, rateHeaders } from './service-gate.ts'
import { createServiceRoutes } from './service-routes.ts'

export function createApp(service: Service, readyLine: () => object): Hono<Env> {
  const { settings, feed, standings } = service
  const app = new Hono<Env>()
  const refuse = (c: Context<Env>, refusal: Refusal) => {
    const isControl = c.req.path.startsWith('/_')
    const status = isControl ? STATUS_OF[refusal.kind] : assumedStatusOf(refusal.kind, settings.assumed)
    // The rest of such a body is not read, so the connection cannot carry another request.
    if (refusal.kind === 'too-large') c.header('connection', 'close')
    const shown = showError(refusal, status, isControl ? 'flat' : settings.assumed.errorBody)
    if (shown === undefined) return c.body(null, status)
    return c.body(shown.body, status, { 'content-type': shown.contentType })
  }

  app.use(secureHeaders(HEADERS))
  app.use(guardHost(settings.hostAllow))
  app.use('/api/*', async (c, next) => {
    await next()
    const { status } = c.res
    // Node would send the system time, with which a client could not interpret the times of a manual clock.
    c.header('date', new Date(service.clock.now()).toUTCString())
    const standing = c.get('rate')
    if (standing !== undefined)
      for (const [name, value] of Object.entries(rateHeaders(standing, status, service))) c.header(name, value)
    const accountKey = c.get('account')?.key
    const { method, path } = c.req
    feed.publish({ type: 'call', method, path, status, accountKey, rateRemaining: standing?.remaining })
  })
  app.use('/_emulator/*', guardOrigin())
  app.use('/_inspector/inbox/*', guardOrigin())
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) => {
        c.header('allow', methods.join(', '))
        return refuse(c, new Refusal('method', `${c.req.method} is not taken here; use ${methods.join(', ')}`))
      },
    }),
  )
  app.use('/api/*', createServiceGate(service))
  app.route('/api', createServiceRoutes(service))
  app.route('/_emulator', createControlRoutes(service, readyLine))
  app.route('/_inspector', createPageRoute('emulator'))
  app.get('/_inspector/', (c) => c.redirect(`/_inspector${new URL(c.req.url).search}`))
  if (settings.inbox !== undefined && standings !== undefined) {
    const onAction = standings.onAction.bind(standings)
    app.route(
      '/_inspector/inbox',
      createInboxRoutes(settings.inbox, { isWritable: true, list: standings.list, onAction }),
    )
  }
  app.notFound((c) => refuse(c, new Refusal('unknown', 'there is nothing at this address')))
  app.onError((error, c) => {
    if (error instanceof Refusal) return refuse(c, error)
    if (error instanceof PosternError && error.code === 'database_unusable')
      return refuse(c, new Refusal('full', error.message))
    if (error instanceof ConnectionCut) throw error
    settings.logger.error({ err: error, path: c.req.path }, 'the emulator failed to answer')
    return refuse(c, new Refusal('fault', 'the emulator failed; its log says why'))
  })
  return app
}

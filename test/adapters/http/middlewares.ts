import { createRequire } from 'node:module'
import type { RequestHandler } from 'express'

const require = createRequire(import.meta.url) // untyped: some of the packages have no types

const newSession = (store?: object) =>
  require('express-session')({ secret: 'x', resave: false, saveUninitialized: true, store })

/** A store of sessions that saves a moment later, as those on databases do. */
function slowStore(): object {
  const { MemoryStore } = require('express-session')
  return new (class extends MemoryStore {
    set(...args: readonly unknown[]): void {
      setTimeout(() => super.set(...args), 20)
    }
  })()
}

/** Compresses answers that are too short for its default as well. */
const compressAll = () => require('compression')({ threshold: 0 })

/** Measures into a registry of its own. */
function promBundle(): RequestHandler {
  const bundle = require('express-prom-bundle')
  const promRegistry = new bundle.promClient.Registry()
  return bundle({ includeMethod: true, promRegistry })
}

const ignore = { write: () => {} }

/** Middleware that apps put in front of a receiver. Each row makes what one app has. */
export const middlewares: Readonly<Record<string, () => readonly RequestHandler[]>> = {
  'express-session': () => [newSession()],
  'express-session with a slow store': () => [newSession(slowStore())],
  'cookie-session': () => [
    require('cookie-session')({ keys: ['x'] }),
    (request, _response, next) => {
      Object.assign(request, { session: { visits: 1 } })
      next()
    },
  ],
  compression: () => [require('compression')()],
  'compression of everything': () => [compressAll()],
  'compression outside express-session': () => [compressAll(), newSession(slowStore())],
  'compression inside express-session': () => [newSession(slowStore()), compressAll()],
  helmet: () => [require('helmet')()],
  cors: () => [require('cors')({ credentials: true, origin: true })],
  morgan: () => [require('morgan')('combined', { stream: ignore })],
  'cookie-parser': () => [require('cookie-parser')('x')],
  'express-rate-limit': () => [require('express-rate-limit')({ limit: 1_000, standardHeaders: true })],
  'express-slow-down': () => [require('express-slow-down')({ delayAfter: 1, delayMs: () => 1 })],
  'response-time': () => [require('response-time')()],
  'connect-timeout': () => [require('connect-timeout')('1m')],
  'method-override': () => [require('method-override')()],
  'express-validator': () => [require('express-validator').query('page').optional().isInt()],
  'express-fileupload': () => [require('express-fileupload')()],
  multer: () => [require('multer')().any()],
  passport: () => [newSession(), require('passport').initialize(), require('passport').session()],
  'pino-http': () => [require('pino-http')({}, ignore)],
  'express-winston': () => [
    require('express-winston').logger({
      transports: [
        new (require('winston').transports.Stream)({ stream: new (require('node:stream').PassThrough)().resume() }),
      ],
    }),
  ],
  'express-prom-bundle': () => [promBundle()],
  'http-proxy-middleware for other paths': () => [
    require('http-proxy-middleware').createProxyMiddleware({ target: 'http://127.0.0.1:9', pathFilter: '/api' }),
  ],
  apicache: () => [require('apicache').middleware('1 minute')],
}

/** Middleware that writes to `request.query`, which fails on every request to Express 5. */
export const middlewaresOf4: typeof middlewares = {
  hpp: () => [require('hpp')()],
  'express-mongo-sanitize': () => [require('express-mongo-sanitize')()],
}

import { createServer, type RequestListener } from 'node:http'
import { type Duplex, duplexPair } from 'node:stream'
import { pathOf, type Target, type TargetOptions } from './target.ts'
import { sendOverHttp } from './url-target.ts'

/**
 * Creates a target of an app on node:http, without a port: a real server receives the requests over a connection in memory. Heads,
 * chunks and broken connections behave as on a network.
 *
 * @param listener argument of `http.createServer`: the app of a framework built on it, `app.callback()`, or a function
 * @example nodeTarget(app, { path: '/webhooks' })
 */
export function nodeTarget(listener: RequestListener, options: TargetOptions = {}): Target {
  if (typeof listener !== 'function')
    throw new TypeError(
      'nodeTarget() takes a function of a request and a response, as createServer() does. For a server, give the function that createServer() took; for one that listens, use urlTarget(url).',
    )
  const server = createServer(listener)
  const url = new URL(pathOf(options), 'http://localhost')
  return {
    send(request) {
      const [client, connection] = connect()
      server.emit('connection', connection)
      return sendOverHttp(url, request, { createConnection: () => client, defaultPort: 80 })
    },
  }
}

function asIs(this: unknown): unknown {
  return this
}

/** Members of a socket that apps use: in memory nothing is idle, delayed or kept alive. */
const SOCKET = {
  ...{ remoteAddress: '127.0.0.1', remotePort: 0, address: () => ({}) },
  ...{ setTimeout: asIs, setNoDelay: asIs, setKeepAlive: asIs, ref: asIs, unref: asIs },
}

/** Creates both ends of a connection. An end that closes cuts the other, once that has read what was written before. */
function connect(): readonly [client: Duplex, server: Duplex] {
  const [client, server] = duplexPair()
  Object.assign(client, SOCKET).once('close', () => setImmediate(() => server.destroy()))
  Object.assign(server, SOCKET).once('close', () => setImmediate(() => client.destroy()))
  return [client, server]
}

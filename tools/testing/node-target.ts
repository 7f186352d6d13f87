import { createServer, type RequestListener } from 'node:http'
import { MemorySocket } from './memory-socket.ts'
import { pathOf, type Target, type TargetOptions } from './target.ts'
import { sendOverHttp } from './url-target.ts'

/**
 * Creates a target of an app on node:http, without a port: a real server receives the requests over a connection in memory. Heads,
 * chunks and broken connections behave as on a network; timeouts of sockets never fire.
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
      const [client, connection] = MemorySocket.createPair()
      server.emit('connection', connection)
      return sendOverHttp(url, request, { createConnection: () => client, defaultPort: 80 })
    },
  }
}

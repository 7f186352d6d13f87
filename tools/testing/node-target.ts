import { createServer, type RequestListener } from 'node:http'
import { FUNCTION, OptionChecker } from '../../src/protocol/option-checker.ts'
import { MemorySocket } from './memory-socket.ts'
import { pathOf, type Target, type TargetOptions } from './target.ts'
import { sendOverHttp } from './url-target.ts'

const LISTENER =
  'a function of a request and a response, as for createServer(): for a server, the one that it took; for one that listens, use urlTarget(url)'

/**
 * Creates a target of an app on node:http, without a port: a real server receives the requests over a connection in memory. Heads,
 * chunks and broken connections behave as on a network; timeouts of sockets never fire.
 *
 * @param listener argument of `http.createServer`: the app of a framework built on it, `app.callback()`, or a function
 * @example nodeTarget(app, { path: '/webhooks' })
 */
export function nodeTarget(listener: RequestListener, options?: TargetOptions): Target
export function nodeTarget(listener: RequestListener, ...rest: readonly unknown[]): Target {
  const check = new OptionChecker('nodeTarget')
  check.mustBe('listener', listener, (value) => FUNCTION(value) && LISTENER)
  const url = new URL(pathOf(check, rest), 'http://localhost')
  const server = createServer(listener)
  return {
    send(request) {
      const [client, connection] = MemorySocket.createPair()
      server.emit('connection', connection)
      return sendOverHttp(url, request, { createConnection: () => client, defaultPort: 80 })
    },
  }
}

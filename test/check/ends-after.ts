import { createServer, type RequestListener, type Server } from 'node:http'

/** A receiver whose process ends at the request after so many. */
export function endsAfter(answered: number, listener: RequestListener): Server {
  let requests = 0
  const server = createServer((request, response) => {
    if (++requests <= answered) listener(request, response)
    else {
      server.close()
      server.closeAllConnections()
    }
  })
  return server
}

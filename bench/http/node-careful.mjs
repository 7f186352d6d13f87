import getRawBody from 'raw-body'
import { HEADER } from '../receivers/by-hand.mjs'
import { createCareful } from '../receivers/careful.mjs'

export function createListener(onEvent) {
  const receive = createCareful(onEvent)
  return (request, response) => {
    getRawBody(request, { limit: '1mb', length: request.headers['content-length'] }, (error, body) => {
      const status = error ? error.status : receive(body, request.headers[HEADER])
      response.writeHead(status, { 'content-length': 2 }).end('{}')
    })
  }
}

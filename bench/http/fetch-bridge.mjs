import { Readable } from 'node:stream'

/** Returns the bridge from node:http to Fetch that all Fetch contestants use. */
export const serveFetch = (handler) => async (request, response) => {
  const body = Readable.toWeb(request)
  const answer = await handler(
    new Request('http://localhost/webhooks', { method: 'POST', headers: request.headers, body, duplex: 'half' }),
  )
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
}

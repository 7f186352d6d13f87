import { Readable } from 'node:stream'

/** The same bridge from node:http to Fetch for everyone. */
export const serveFetch = (handler) => async (request, response) => {
  const body = Readable.toWeb(request)
  const answer = await handler(
    new Request('http://localhost/webhooks', { method: 'POST', headers: request.headers, body, duplex: 'half' }),
  )
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
}

import { HEADER, isSigned } from '../receivers/by-hand.mjs'

/** The HTTP floor. */
export const createListener = (onEvent) => (request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
    const isGood = isSigned(body, request.headers[HEADER])
    if (isGood) onEvent(JSON.parse(body.toString()).data.record)
    response.writeHead(isGood ? 200 : 401, { 'content-length': 2 }).end('{}')
  })
}

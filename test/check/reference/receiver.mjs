// A receiver as one may write it with node:http alone. Prints its port. With CRASH=1 it has a fault: a signature of another length ends the
// process.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const MAX_BODY_BYTES = 4 * 1024 * 1024

const server = createServer((request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end()
  const parts = []
  let length = 0
  request.on('data', (part) => {
    length += part.length
    if (length <= MAX_BODY_BYTES) parts.push(part)
    else if (!response.writableEnded) response.writeHead(413, { connection: 'close' }).end()
  })
  request.on('end', () => {
    if (response.writableEnded) return
    const expected = Buffer.from(
      `sha256=${createHmac('sha256', process.env.WEBHOOK_SECRET).update(Buffer.concat(parts)).digest('hex')}`,
    )
    const given = Buffer.from(request.headers['x-service-signature'] ?? '')
    const hasLength = process.env.CRASH === '1' || given.length === expected.length
    const isGenuine = hasLength && timingSafeEqual(given, expected)
    response.writeHead(isGenuine ? 200 : 401).end()
  })
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))

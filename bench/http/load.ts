import { connect, type Socket } from 'node:net'
import { makeBody } from '../deliveries.mjs'
import { HEADER, sign } from '../receivers/by-hand.mjs'
import { withAction } from '../receivers/octokit.mjs'

const SIZE = 611
const CONNECTIONS = 16

/** Signs and writes whole requests beforehand, so that the sender does not work while the receiver is measured. */
export function makeRequests(count: number, contestant: string, secret?: string): readonly Buffer[] {
  const isOctokit = contestant.includes('octokit')
  return Array.from({ length: count }, () => {
    const { id, body: plain } = makeBody(SIZE)
    const body = isOctokit ? withAction(plain) : plain
    const signature = sign(body, secret)
    // Every contestant gets the same headers, although only the two of octokit need the last three.
    const head = [
      'POST /webhooks HTTP/1.1',
      'host: 127.0.0.1',
      'content-type: application/json',
      `content-length: ${body.length}`,
      `${HEADER}: ${signature}`,
      `x-hub-signature-256: ${signature}`,
      'x-github-event: issues',
      `x-github-delivery: ${id}`,
    ]
    return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
  })
}

/** Sends the requests over keep-alive connections, one at a time on each, and returns how often each status came back. */
export async function sendAll(port: number, requests: readonly Buffer[]): Promise<ReadonlyMap<number, number>> {
  const statuses = new Map<number, number>()
  let next = 0
  const lane = async () => {
    const socket = connect(port, '127.0.0.1').setNoDelay()
    while (next < requests.length) {
      const request = requests[next++]
      if (request === undefined) break
      const status = await exchange(socket, request)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
  return statuses
}

function exchange(socket: Socket, request: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const onData = (chunk: Buffer) => {
      answer += chunk.toString('latin1')
      const headEnd = answer.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const length = /content-length: (\d+)/i.exec(answer)?.[1]
      const isWhole =
        length === undefined ? answer.endsWith('0\r\n\r\n') : answer.length >= headEnd + 4 + Number(length)
      if (!isWhole) return
      socket.off('data', onData).off('error', reject).off('close', reject)
      resolve(Number(answer.slice(9, 12)))
    }
    socket.on('data', onData).once('error', reject).once('close', reject)
    socket.write(request)
  })
}

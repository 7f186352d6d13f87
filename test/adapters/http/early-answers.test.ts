import { execFile } from 'node:child_process'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { distinctHosts, type Host } from './hosts.ts'
import { expectUntouched, sample, startScene, toOutgoing } from './scene.ts'
import { type Headers, head } from './wire.ts'

const MB = 1_000_000
const ROUNDS = process.env.LONG ? 20 : 1
/** As long as the receiver reads what a refused sender still sends. */
const DRAIN_MS = 2_000
/** Senders on a busy machine may be late each time. */
const MOST_LATE = 20

/** A request with a body of so many bytes, which is refused. */
interface Refused {
  readonly port: number
  readonly headers: Headers
  readonly size: number
}

/** Sends the whole body, whatever it receives meanwhile, and returns status and body of the answer. */
type Client = (refused: Refused) => Promise<string>

const clients: Readonly<Record<string, Client>> = {
  'a bare socket': ({ port, headers, size }) =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      let answer = ''
      let failure = ''
      socket.on('data', (part) => {
        answer += part
      })
      socket.on('error', (error) => {
        failure = String(error)
      })
      socket.on('close', () => resolve(/ (\d+) .*\r\n\r\n(.*)$/s.exec(answer)?.slice(1).join(' ') ?? failure))
      const framing = headers['transfer-encoding'] === undefined ? '' : `${size.toString(16)}\r\n`
      socket.write(head({ ...headers, connection: 'close' }) + framing)
      socket.write(Buffer.alloc(size))
      if (framing !== '') socket.write('\r\n0\r\n\r\n')
    }),

  'node:http with kept connections': ({ port, headers, size }) =>
    new Promise((resolve) => {
      const agent = new Agent({ keepAlive: true })
      const options = {
        agent,
        port,
        host: '127.0.0.1',
        path: '/webhooks',
        method: 'POST',
        headers: toOutgoing(headers),
      }
      const request = httpRequest(options, (response) => {
        let body = ''
        response.on('data', (part) => {
          body += part
        })
        response.on('error', (error) => resolve(String(error)))
        response.on('end', () => {
          agent.destroy()
          resolve(`${response.statusCode} ${body}`)
        })
      })
      request.on('error', (error) => resolve(String(error)))
      request.end(Buffer.alloc(size))
    }),

  fetch: async ({ port, headers, size }) => {
    const { 'content-length': length, 'transfer-encoding': chunked, ...rest } = headers
    const body = chunked === undefined ? Buffer.alloc(size) : new Blob([Buffer.alloc(size)]).stream()
    const lines = Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)])
    try {
      const init: RequestInit = { method: 'POST', headers: lines, body, duplex: 'half' }
      const response = await fetch(`http://127.0.0.1:${port}/webhooks`, init)
      return `${response.status} ${await response.text()}`
    } catch (error) {
      return error instanceof Error ? `${error} ${error.cause}` : String(error)
    }
  },

  // The body is sent to its end before the answer is read.
  "Python's http.client": async (refused) => {
    const { stdout } = await promisify(execFile)('python3', ['-c', PYTHON, JSON.stringify(refused)])
    return stdout.trim()
  },
}

const PYTHON = `
import http.client, json, sys
given = json.loads(sys.argv[1])
body, chunked = b'\\0' * given['size'], 'transfer-encoding' in given['headers']
headers = {name: str(value) for name, value in given['headers'].items()}
connection = http.client.HTTPConnection('127.0.0.1', given['port'], timeout=20)
try:
    connection.request('POST', '/webhooks', [body] if chunked else body, headers, encode_chunked=chunked)
    answer = connection.getresponse()
    print(answer.status, answer.read().decode())
except Exception as error:
    print(repr(error))
connection.close()
`

const python = await promisify(execFile)('python3', ['--version']).catch(() => undefined)
if (python === undefined) console.log('python3 is not there: its HTTP client is left out of the early answers')

const [TOO_LARGE, UNAUTHORIZED] = ['413 {"code":"body_too_large"}', '401 {"code":"unauthorized"}']
const shapes: readonly (readonly [string, number, boolean, string])[] = [
  ['20 MB, declared', 20 * MB, true, TOO_LARGE],
  ['20 MB in chunks', 20 * MB, false, TOO_LARGE],
  ['1 MB, declared, behind a bad head', MB, true, UNAUTHORIZED],
  ['5 MB in chunks, behind a bad head', 5 * MB, false, UNAUTHORIZED],
]

/** Rule: a sender that is refused while it is still sending can read the whole answer. */
describe.each(distinctHosts)('$name', (host: Host) => {
  describe.each(Object.entries(clients))('sends %s its whole answer', (client, ask) => {
    it.skipIf(client.startsWith('Python') && python === undefined).each(shapes)(
      'to %s',
      async (_, size, isDeclared, expected) => {
        const scene = await startScene(host)
        const signed = sample({ tamper: expected === UNAUTHORIZED ? 'no-header' : 'none' }).headers
        const { 'content-length': _length, ...rest } = signed
        const headers = isDeclared ? { ...rest, 'content-length': size } : { ...rest, 'transfer-encoding': 'chunked' }
        let late = 0
        for (let round = 0; round < ROUNDS; round++) {
          const begun = performance.now()
          const answer = await ask({ port: scene.port, headers, size })
          // Who sends for longer than the receiver drains is cut. That says nothing about a sender in time: again.
          if (answer === expected || performance.now() - begun <= DRAIN_MS) expect(answer).toBe(expected)
          else if (++late < MOST_LATE) round--
        }
        expectUntouched(scene)
        if (late >= MOST_LATE)
          console.log(`${client} to ${host.name}: this machine sends ${size} bytes too late to judge the answer`)
      },
    )
  })
})

/** Tests memory and answers at the limits: oversized bodies, bodies that do not end, handlers that do not end. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { memoryStore, sign } from 'postern'
import { events, signed } from 'postern/testing'
import { dedupKey } from '../../../src/protocol/dedup-key.ts'
import { head } from '../../adapters/http/wire.ts'
import { report } from './figures.ts'
import { type FromServer, SECRET, type ToServer } from './messages.ts'

const MB = 1_000_000
const HUGE = 100 * MB
const PART = Buffer.alloc(65_536, 0x20)
const WELL_FORMED = { 'x-service-signature': `sha256=${'0'.repeat(64)}` }

class Server {
  readonly port: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  static async start(): Promise<Server> {
    const path = fileURLToPath(new URL('server.ts', import.meta.url))
    const child = fork(path, { execArgv: ['--import', 'tsx', '--expose-gc'] })
    const [message] = (await once(child, 'message')) as [FromServer] // the first argument of the event
    if (!('port' in message)) throw new Error('the server did not begin with its port')
    return new Server(child, message.port)
  }

  /** The largest growth of its memory in bytes since the start of the measurement. */
  async ask(question: ToServer): Promise<number> {
    this.#child.send(question)
    const [message] = (await once(this.#child, 'message')) as [FromServer] // the first argument of the event
    if ('port' in message) throw new Error('the server told its port again')
    return message.peak - message.base
  }

  stop(): void {
    this.#child.disconnect()
  }
}

interface Answered {
  readonly status: number
  readonly ms: number
  /** Bytes of the body that were sent when the answer came; the system's buffers hold some of them. */
  readonly sent: number
}

/** Sends a request, whether it is answered meanwhile or not, until all of it is sent or the other side has closed. */
async function send(
  port: number,
  requestHead: string,
  parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<Answered> {
  const socket = connect({ port, host: '127.0.0.1' })
  let received = ''
  const answered: Answered[] = []
  const startedAt = performance.now()
  let sent = 0
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
    const status = /^HTTP\/1\.1 (\d+) .*\r\n\r\n/s.exec(received)?.[1]
    if (status !== undefined && answered.length === 0)
      answered.push({ status: Number(status), ms: performance.now() - startedAt, sent })
  })
  const isOver = new Promise<void>((resolve) => {
    socket.on('close', () => resolve()).on('error', () => resolve()) // a reset ends the sending, as a close does
  })
  socket.write(requestHead)
  for await (const part of parts) {
    if (socket.destroyed) break
    sent += part.length
    if (!socket.write(part)) await Promise.race([once(socket, 'drain').catch(() => {}), isOver])
  }
  while (answered.length === 0 && !socket.destroyed) await Promise.race([once(socket, 'data').catch(() => {}), isOver])
  socket.destroy()
  const [answer] = answered
  if (answer === undefined) throw new Error(`no answer after ${sent} bytes`)
  return answer
}

function* plain(): Iterable<Uint8Array> {
  for (let sent = 0; sent < HUGE; sent += PART.length) yield PART.subarray(0, Math.min(PART.length, HUGE - sent))
}

function* inChunks(): Iterable<Uint8Array> {
  for (const part of plain())
    yield Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')])
  yield Buffer.from('0\r\n\r\n')
}

const DECLARED = head({ ...WELL_FORMED, 'content-length': HUGE })
const CHUNKED = head({ ...WELL_FORMED, 'transfer-encoding': 'chunked' })
const toMegabytes = (bytes: number) => (bytes / MB).toFixed(1)

type Flood = readonly [name: string, status: number, head: string, parts: () => Iterable<Uint8Array>]

function makeFloods(): readonly Flood[] {
  const bomb = gzipSync(Buffer.alloc(200 * MB))
  const signature = { 'x-service-signature': sign(bomb, SECRET), 'content-length': bomb.length }
  return [
    ['a body of 100 MB, declared', 413, DECLARED, plain],
    ['a body of 100 MB, in chunks', 413, CHUNKED, inChunks],
    ['a gzip bomb of 200 MB', 415, head({ ...signature, 'content-encoding': 'gzip' }), () => [bomb]],
    ['that bomb without a content-encoding', 400, head(signature), () => [bomb]],
  ]
}

/** Runs one after the other, each in its own process: leftovers of one would hide the growth of the next. */
async function measureMemory(): Promise<void> {
  for (const flood of makeFloods()) await measureFlood(flood)
}

async function measureFlood([name, status, requestHead, parts]: Flood): Promise<void> {
  const server = await Server.start()
  await server.ask('begin')
  const answer = await send(server.port, requestHead, parts())
  const grown = await server.ask('tell')
  server.stop()
  report({
    name,
    measured: `+${toMegabytes(grown)} MB, answered ${answer.status}`,
    goal: `+64 MB at most, answered ${status}`,
    isMet: grown <= 64 * MB && answer.status === status,
  })
}

function measureStore(): void {
  const readHeap = () => {
    gc?.()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const ids = 100_000
  const before = readHeap()
  const store = memoryStore()
  for (let index = 0; index < ids; index++) {
    const key = dedupKey('default', 'account-1', `evt_${String(index).padStart(28, '0')}`)
    const claim = store.claim(key, 15_000)
    if (claim instanceof Promise || claim.state !== 'claimed') throw new Error(`${key} is known`)
    store.complete(key, claim.token)
  }
  const grown = readHeap() - before
  report({
    name: '100,000 remembered ids of 32 characters: memory',
    measured: `+${toMegabytes(grown)} MB`,
    goal: '+16 MB at most',
    isMet: grown <= 16 * MB && store.earlyDrops === 0,
  })
}

async function* dribble(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at++) {
    yield bytes.subarray(at, at + 1)
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

async function measureAnswers(): Promise<void> {
  const server = await Server.start()
  const { port } = server
  await send(port, DECLARED, []) // the first request of a process is slower
  const slow = signed(events.syncCompleted(), { secret: SECRET })
  const hung = signed(events.syncFailed(), { secret: SECRET })
  const headOf = ({ body, headers }: typeof slow) => head({ ...headers, 'content-length': body.length })
  const declared = await send(port, DECLARED, [])
  const flooded = await send(port, CHUNKED, inChunks())
  const [cut, answered] = await Promise.all([
    // A few bytes in time, and then so slowly that the deadline comes first.
    send(port, headOf(slow), dribble(slow.body.subarray(0, 30))),
    send(port, headOf(hung), [hung.body]),
  ])
  server.stop()
  const toSeconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`
  report({
    name: '100 MB declared, not a byte of it sent',
    measured: `${declared.status} after ${declared.ms.toFixed(1)} ms`,
    goal: '413 in under 1 s',
    isMet: declared.status === 413 && declared.ms < 1_000,
  })
  report({
    name: '100 MB in chunks',
    measured: `${flooded.status}, with ${toMegabytes(flooded.sent)} MB on the way`,
    goal: '413 before half of it is sent',
    isMet: flooded.status === 413 && flooded.sent < HUGE / 2,
  })
  report({
    name: 'a body that dribbles, default deadline',
    measured: `${cut.status} after ${toSeconds(cut.ms)}`,
    goal: '408 at 8 s, before 9.5 s',
    isMet: cut.status === 408 && cut.ms > 7_900 && cut.ms < 9_500,
  })
  report({
    name: 'a handler that hangs, default deadline',
    measured: `${answered.status} after ${toSeconds(answered.ms)}`,
    goal: '503 before 9.5 s',
    isMet: answered.status === 503 && answered.ms < 9_500,
  })
}

measureStore()
await measureMemory()
await measureAnswers()

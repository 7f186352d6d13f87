import { getEventListeners, once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ExchangePhase, exchange, keepConnection, type WireRequest } from '../../tools/wire/exchange.ts'
import { SELF_SIGNED, TEST_KEY } from './certificates.ts'

const EMPTY: WireRequest = { headers: [], body: new Uint8Array() }

async function listen(server: Server, protocol = 'http'): Promise<URL> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = server.address() as AddressInfo // it listens at a port
  return new URL(`${protocol}://127.0.0.1:${port}/hooks?a=1`)
}

/** Listens, and answers the first bytes of each connection with a text. */
function answerWith(text: string): Promise<URL> {
  return listen(createServer((socket) => void socket.on('error', () => {}).once('data', () => socket.write(text))))
}

const serve = (listener: RequestListener) => listen(createHttpServer(listener))

/** Options of an exchange that fails sooner than its test. */
const within = () => ({ signal: AbortSignal.timeout(60_000), agent: false }) as const

/** A body that a test sends part by part. */
function openBody() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  return { body: readable.values(), send: (text: string) => void writer.write(Buffer.from(text)), writer }
}

describe('exchange', () => {
  it('returns the status, its words, the headers and the body, also of a GET', async () => {
    const url = await serve((request, response) => {
      response.writeHead(201, 'Made', { 'X-A': ['1', '2'] }).end(`${request.method} ${request.url}`)
    })
    const answer = await exchange(url, { ...EMPTY, method: 'GET' }, within())
    expect(answer).toMatchObject({ status: 201, reason: 'Made', headers: { 'x-a': '1, 2' } })
    expect(answer.body.toString()).toBe('GET /hooks?a=1')
  })

  it('declares an empty body as one without bytes, not as one in parts', async () => {
    const url = await serve(({ headers }, response) => response.end(JSON.stringify(headers)))
    const { body } = await exchange(url, EMPTY, within())
    const headers = JSON.parse(body.toString())
    expect([headers['content-length'], headers['transfer-encoding']]).toEqual(['0', undefined])
  })

  it('reads a long answer to its end', async () => {
    const url = await serve((_, response) => response.end('x'.repeat(3_000_000)))
    expect((await exchange(url, EMPTY, within())).body).toHaveLength(3_000_000)
  })

  it('returns as much of an answer as came before its connection ended', async () => {
    const server = createServer((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart'))
    })
    const { status, body } = await exchange(await listen(server), EMPTY, within())
    expect([status, body.toString()]).toEqual([200, 'part'])
  })

  it('returns an answer that came before the body was sent', async () => {
    const url = await serve((_, response) => void response.writeHead(413, { connection: 'close' }).end())
    const { status } = await exchange(url, { headers: [], body: Buffer.alloc(20_000_000) }, within())
    expect(status).toBe(413)
  })

  it('rejects when a server switches to another protocol', async () => {
    const url = await answerWith('HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n')
    const answer = exchange(url, { headers: [], body: Buffer.from('{}') }, within())
    await expect(answer).rejects.toThrow('the connection ended without an answer')
  })

  it('cuts an answer off after so many bytes, even if the rest never arrives', async () => {
    const url = await answerWith(`HTTP/1.1 404 Gone Away\r\nContent-Length: 1000\r\n\r\n${'x'.repeat(500)}`)
    const options = { ...within(), maxBodyBytes: 500 }
    const { status, reason, body } = await exchange(url, { headers: [], body: Buffer.from('{}') }, options)
    expect([status, reason, body.length, options.signal.aborted]).toEqual([404, 'Gone Away', 500, false])
  })
})

describe('a body in parts', () => {
  it('is sent as the parts come, behind the headers', async () => {
    const { body, send, writer } = openBody()
    let received = ''
    let onReceived = (_: string) => {}
    const server = createServer((socket) => {
      socket.on('data', (part) => {
        received += part.toString()
        onReceived(received)
        if (received.endsWith('0\r\n\r\n')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      })
    })
    const until = (text: string) =>
      new Promise<void>((resolve) => {
        onReceived = () => received.endsWith(text) && resolve()
        onReceived(received)
      })
    const answer = exchange(await listen(server), { headers: [], body }, within())
    await until('\r\n\r\n')
    send('one')
    await until('3\r\none\r\n')
    send('three')
    await until('5\r\nthree\r\n')
    void writer.close()
    expect(await answer).toMatchObject({ status: 200 })
  })

  it('rejects with the error of its source', async () => {
    const { body, writer } = openBody()
    const url = await serve(() => {})
    const answer = exchange(url, { headers: [], body }, within())
    void writer.abort(new Error('the file ended'))
    await expect(answer).rejects.toThrow('the file ended')
  })

  it('is not read on once there is an answer', async () => {
    const url = await serve((_, response) => response.end('enough'))
    let onAnswer = () => {}
    const isAnswered = new Promise<void>((resolve) => {
      onAnswer = resolve
    })
    let onEnd = (_: string[]) => {}
    const read = new Promise<string[]>((resolve) => {
      onEnd = resolve
    })
    async function* parts() {
      const names: string[] = []
      try {
        for (const name of ['one', 'two', 'three', 'four']) {
          names.push(name)
          yield Buffer.from(name)
          if (name === 'one') await isAnswered
        }
      } finally {
        onEnd(names)
      }
    }
    expect((await exchange(url, { headers: [], body: parts() }, within())).body.toString()).toBe('enough')
    onAnswer()
    expect(await read).toEqual(['one', 'two'])
  })
})

describe('the signal of an exchange', () => {
  it('that has aborted keeps it from connecting', async () => {
    let connections = 0
    const server = createServer(() => connections++)
    const signal = AbortSignal.abort(new Error('too late'))
    await expect(exchange(await listen(server), EMPTY, { signal })).rejects.toThrow('too late')
    await exchange(await answerWith('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'), EMPTY, within())
    expect(connections).toBe(0)
  })

  it('cuts the connection, and its reason is the error if no status came', async () => {
    const cut = new AbortController()
    const server = createServer((socket) => void socket.once('data', () => cut.abort(new Error('given up'))))
    const url = await listen(server)
    const closed = once(server, 'connection').then(([socket]) =>
      once(
        socket.on('error', () => {}),
        'close',
      ),
    )
    await expect(exchange(url, EMPTY, { signal: cut.signal, agent: false })).rejects.toThrow('given up')
    await closed
  })

  it('ends the reading of an answer', async () => {
    const cut = new AbortController()
    const url = await answerWith('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart')
    const onPhase = (phase: ExchangePhase) => void (phase === 'answered' && setImmediate(() => cut.abort()))
    const { status, body } = await exchange(url, EMPTY, { signal: cut.signal, agent: false, onPhase })
    expect([status, body.toString()]).toEqual([200, 'part'])
  })

  it('has no listener left when the exchange has ended', async () => {
    const { signal } = new AbortController()
    const url = await serve((_, response) => response.end())
    await exchange(url, EMPTY, { signal })
    const refusing = await listen(createServer((socket) => void socket.destroy()))
    await expect(exchange(refusing, EMPTY, { signal })).rejects.toThrow()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

/** Accepts the certificate of a test. */
const trust = { rejectUnauthorized: false }

describe('the phases of an exchange', () => {
  it.each(['http', 'https'])('are told in their order, each once, over %s', async (protocol) => {
    const seen: string[] = []
    const answer: RequestListener = (_, response) => {
      seen.push('received')
      response.end('done')
    }
    const server =
      protocol === 'https' ? createHttpsServer({ key: TEST_KEY, cert: SELF_SIGNED }, answer) : createHttpServer(answer)
    server.on('secureConnection', () => seen.push('secured'))
    const url = await listen(server, protocol)
    const onPhase = (phase: ExchangePhase) => void seen.push(phase)
    await exchange(url, EMPTY, { ...within(), ...trust, onPhase })
    const [connected] = seen.filter((name) => name !== 'secured')
    expect([connected, ...seen.slice(-2)]).toEqual(['connected', 'received', 'answered'])
    expect(seen.filter((phase) => phase === 'connected' || phase === 'answered')).toHaveLength(2)
  })

  it('name no connection by TLS if the certificate is refused', async () => {
    const seen: string[] = []
    const server = createHttpsServer({ key: TEST_KEY, cert: SELF_SIGNED })
    const options = { ...within(), onPhase: (phase: ExchangePhase) => void seen.push(phase) }
    await expect(exchange(await listen(server, 'https'), EMPTY, options)).rejects.toThrow('self-signed')
    expect(seen).toEqual([])
  })
})

describe('keepConnection', () => {
  it.each(['http', 'https'])('sends one request after the other over one connection by %s', async (protocol) => {
    const answer: RequestListener = (_, response) => response.end('done')
    const server =
      protocol === 'https' ? createHttpsServer({ key: TEST_KEY, cert: SELF_SIGNED }, answer) : createHttpServer(answer)
    const url = await listen(server, protocol)
    let connections = 0
    server.on('connection', () => connections++)
    const agent = keepConnection(url)
    onTestFinished(() => agent.destroy())
    const phases: string[] = []
    const options = { ...within(), ...trust, agent, onPhase: (phase: ExchangePhase) => void phases.push(phase) }
    const answers = await Promise.all([1, 2].map(() => exchange(url, EMPTY, options)))
    await exchange(url, EMPTY, options)
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(connections).toBe(1)
    expect(phases).toEqual(Array(3).fill(['connected', 'answered']).flat())
  })
})

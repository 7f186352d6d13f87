import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { DeliveryChanges } from '../../tools/check/case.ts'
import { createMaker } from '../../tools/check/maker.ts'
import { sendDelivery } from '../../tools/check/send.ts'
import { keepConnection } from '../../tools/wire/exchange.ts'
import { SECRET } from './faulty/hand-written.ts'

const make = createMaker({ secret: SECRET, accountKey: 'acme' })

/** Listens on a port, sends this answer at the end of each request's body, and keeps the parts that came. */
async function startRecording(answer: string, isEnd = (text: string) => text.endsWith('}')) {
  const parts: string[] = []
  const server = createServer((socket) => {
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (part) => {
      parts.push(part.toString())
      text += part
      if (!isEnd(text)) return
      text = ''
      socket.write(answer)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
  })
  const address = server.address()
  return { url: new URL(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/x?y=z`), parts }
}

const OK = 'HTTP/1.1 202 Taken\r\nContent-Length: 2\r\nX-A: 1\r\n\r\nhi'
const OPTIONS: Parameters<typeof sendDelivery>[2] = { timeoutMs: 60_000, cut: new AbortController().signal }
const deliver = (changes: DeliveryChanges = {}) => make.delivery('{"a": "ë"}', changes)

async function linesOf(
  changes: DeliveryChanges,
  options: Partial<typeof OPTIONS> = {},
  isEnd?: (text: string) => boolean,
) {
  const { url, parts } = await startRecording(OK, isEnd)
  await sendDelivery(url, deliver(changes), { ...OPTIONS, ...options })
  return parts
    .join('')
    .replace(/Host: .*\r\n/, '')
    .split('\r\n')
}

describe('a delivery of a check on the wire', () => {
  const [signature] = deliver().signatures

  it('has the head that the service sends, and the name of the checker', async () => {
    expect(await linesOf({})).toEqual([
      ...['POST /x?y=z HTTP/1.1', 'User-Agent: postern-check', 'Content-Type: application/json'],
      ...[`X-Service-Signature: ${signature}`, 'Content-Length: 11', 'Connection: close', '', '{"a": "ë"}'],
    ])
  })

  it('has the given head: encoding, type, and several signatures, each in a line of its own', async () => {
    const changes = { contentEncoding: 'gzip', contentType: 'text/plain', signature: () => ['a', 'b'] } as const
    expect(await linesOf({ ...changes, signatureName: 'x-s' })).toEqual([
      ...['POST /x?y=z HTTP/1.1', 'User-Agent: postern-check', 'Content-Type: text/plain', 'Content-Encoding: gzip'],
      ...['x-s: a', 'x-s: b', 'Content-Length: 11', 'Connection: close', '', '{"a": "ë"}'],
    ])
  })

  it('declares no length if it is chunked', async () => {
    const lines = await linesOf({ isChunked: true }, {}, (text) => text.endsWith('0\r\n\r\n'))
    expect(lines.slice(3)).toEqual([
      ...[`X-Service-Signature: ${signature}`, 'Transfer-Encoding: chunked', 'Connection: close', ''],
      ...['b', '{"a": "ë"}', '0', '', ''],
    ])
  })

  it('declares no length for a GET', async () => {
    const changes = { method: 'GET', bytes: new Uint8Array() } as const
    const lines = await linesOf(changes, {}, (text) => text.endsWith('\r\n\r\n'))
    expect(lines[0]).toBe('GET /x?y=z HTTP/1.1')
    expect(lines.join()).not.toMatch(/content-length|transfer-encoding/i)
  })

  it('arrives in the given parts, each read before the next is sent', async () => {
    const { url, parts } = await startRecording(OK)
    const toParts = async function* () {
      yield Buffer.from('{"a": ')
      await vi.waitUntil(() => parts.join('').endsWith(': '), { timeout: 60_000 })
      yield Buffer.from('"b"}')
    }
    await sendDelivery(url, make.delivery('{"a": "b"}', { toParts }), OPTIONS)
    expect(parts.at(-1)).toBe('"b"}')
  })

  it('keeps the connection only if it is asked to', async () => {
    const { url, parts } = await startRecording(OK)
    const agent = keepConnection(url)
    for (let count = 0; count < 2; count++) await sendDelivery(url, deliver(), { ...OPTIONS, agent })
    expect(parts.join('').match(/Connection: .*/g)).toEqual(['Connection: keep-alive', 'Connection: keep-alive'])
    agent.destroy()
  })
})

describe('the answer to a delivery', () => {
  it('is its status, its words, its head and its body, with the time that it took', async () => {
    const { url } = await startRecording(OK)
    const started = performance.now()
    const { ms, body, isWhole, ...answer } = await sendDelivery(url, deliver(), OPTIONS)
    expect(await body).toBe('hi')
    expect(await isWhole).toBe(true)
    expect(answer).toEqual({
      status: 202,
      words: 'Taken',
      headers: { 'content-length': '2', 'x-a': '1' },
      failure: undefined,
      failureKind: undefined,
      isUnreachable: false,
    })
    expect(ms).toBeGreaterThan(0)
    expect(ms).toBeLessThanOrEqual(performance.now() - started)
  })

  it('is there with its status: the body may end when it likes, or when the run cuts it', async () => {
    const { url } = await startRecording('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi')
    const cut = new AbortController()
    const answer = await sendDelivery(url, deliver(), { ...OPTIONS, timeoutMs: 600_000, cut: cut.signal })
    expect(answer.status).toBe(200)
    cut.abort()
    expect(await answer.body).toBe('hi')
  })

  it('holds the first 64 KiB of the body', async () => {
    const { url } = await startRecording(`HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n${'x'.repeat(200_000)}`)
    expect(await (await sendDelivery(url, deliver(), OPTIONS)).body).toBe('x'.repeat(65_536))
  })

  it('is the limit if none came in time, of which AbortSignal takes no fractions', async () => {
    const { url } = await startRecording('')
    expect(await sendDelivery(url, deliver(), { ...OPTIONS, timeoutMs: 99.5 })).toMatchObject({
      status: undefined,
      failure: 'no answer within 0.0995 s',
      failureKind: 'timeout',
      isUnreachable: false,
      words: '',
      headers: {},
    })
  })

  it('is missing once the run cuts it', async () => {
    const { url } = await startRecording('')
    const cut = new AbortController()
    const sending = sendDelivery(url, deliver(), { ...OPTIONS, cut: cut.signal })
    cut.abort()
    expect(await sending).toMatchObject({ status: undefined, failureKind: 'reset', isUnreachable: false })
  })
})

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import * as z from 'zod'
import { connectToEmulator } from '../../tools/cli/service/emulator-client.ts'
import { listen } from '../adapters/http/hosts.ts'
import { createTestIo } from './test-io.ts'

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** A server that answers `ready` like an emulator, and everything else as the test says. */
async function serve(answer: Answer, ready: Answer = (_request, response) => response.end('{"type":"ready"}')) {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    const handle = request.url === '/_emulator/ready' ? ready : answer
    handle(request, response, body)
  })
  const { port, close } = await listen(server)
  onTestFinished(close)
  return `http://127.0.0.1:${port}`
}

async function connect(answer: Answer) {
  const url = await serve(answer)
  const { io, interrupt } = createTestIo()
  return { url, interrupt, emulator: await connectToEmulator({ emulator: `${url}/any/path` }, io) }
}

const anything = z.looseObject({})
/** Cuts the connection within an answer. */
const cut: Answer = (_request, response) => {
  response.writeHead(200, { 'content-length': 9 }).write('{', () => response.destroy())
}

describe('a connection to an emulator', () => {
  it.each<[string, Answer]>([
    ['a page', (_request, response) => response.end('<html>')],
    ['other JSON', (_request, response) => response.end('{"type":"other"}')],
    ['a list', (_request, response) => response.end('[]')],
    ['null', (_request, response) => response.end('null')],
    ['a failure', (_request, response) => response.writeHead(500).end('{"type":"ready"}')],
    ['a redirect', (_request, response) => response.writeHead(302, { location: '/' }).end()],
    ['nothing', (_request, response) => response.destroy()],
  ])('is refused if %s answers', async (_what, ready) => {
    const url = await serve((_request, response) => response.end('{"type":"ready"}'), ready)
    const { io } = createTestIo({ env: { POSTERN_BASE_URL: url } })
    const fix = expect.stringMatching(/^Start one in another terminal:\n {2}npx postern dev /)
    const message = `No emulator answers at ${url}`
    const unnamed = { exitCode: 3, message: `${message}.` }
    await expect(connectToEmulator({ emulator: url }, io)).rejects.toMatchObject(unnamed)
    const named = { exitCode: 3, message: `${message} (POSTERN_BASE_URL).`, fix }
    await expect(connectToEmulator({}, io)).rejects.toMatchObject(named)
  })

  it('tells after a moment what it waits for', async () => {
    const { io, written } = createTestIo()
    const url = await serve(
      () => {},
      async (_request, response) => {
        await written.until(/waiting/, new Promise(() => {}))
        response.end('{"type":"ready"}')
      },
    )
    await connectToEmulator({ emulator: url }, io)
    expect(written.stderr).toBe(`waiting for an answer of ${url}\n`)
  })

  it('is given up at Ctrl-C', async () => {
    const { io, interrupt } = createTestIo()
    const url = await serve(() => {}, interrupt)
    await expect(connectToEmulator({ emulator: url }, io)).rejects.toMatchObject({ name: 'AbortError' })
  })
})

describe('a call of an emulator', () => {
  it.each([
    ['GET', 404, '{"message":"there is no such contact"}', 1, 'there is no such contact'],
    ['POST', 404, '{"message":"there is no such account"}', 2, 'there is no such account'],
    ['GET', 400, '{"message":"x\\u001b[2J"}', 2, 'x?[2J'],
    ['GET', 400, '{"message":7}', 2, '{"message":7}'],
    ['GET', 500, 'x'.repeat(600), 2, 'x'.repeat(500)],
    ['GET', 502, '', 2, 'it answered 502'],
  ])('that is refused ends the command: %s, %d, %s', async (method, status, text, exitCode, reason) => {
    const { emulator } = await connect((_request, response) => response.writeHead(status).end(text))
    const message = `The emulator refused: ${reason}`
    await expect(emulator.call(`${method} x`, anything)).rejects.toMatchObject({ exitCode, message })
  })

  it.each<[string, Answer]>([
    ['before its answer', (_request, response) => response.destroy()],
    ['within its answer', cut],
    ['by a redirect', (_request, response) => response.writeHead(302, { location: '/_emulator/ready' }).end()],
  ])('that is cut %s ends the command', async (_what, answer) => {
    const { emulator, url } = await connect(answer)
    const message = `The emulator at ${url} no longer answers.`
    await expect(emulator.call('GET x', anything)).rejects.toMatchObject({ exitCode: 3, message })
  })

  it('ends in time, and at Ctrl-C, before its answer and within it', async () => {
    let left = Number.POSITIVE_INFINITY
    const { emulator, interrupt } = await connect(({ url }, response) => {
      if (url?.endsWith('/half')) response.writeHead(200, { 'content-length': 9 }).write('{')
      if (--left === 0) setImmediate(interrupt)
    })
    for (const path of ['none', 'half'])
      await expect(emulator.call(`GET ${path}`, anything, { withinMs: 50 })).rejects.toMatchObject({ exitCode: 3 })
    left = 2
    await Promise.all(
      ['none', 'half'].map((path) =>
        expect(emulator.call(`GET ${path}`, anything)).rejects.toMatchObject({ name: 'AbortError' }),
      ),
    )
  })
})

import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import fastify from 'fastify'
import { createSender, events, fastifyTarget, fetchTarget, manualClock, nodeTarget, type Target } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Gate } from '../support/gate.ts'
import { EXPRESSES, secret } from './support.ts'

const event = events.contact.created({ lastName: 'žluť'.repeat(20) })

const newSender = (target: Target, clock = manualClock()) => createSender({ target, secret, clock })

async function readParts(request: IncomingMessage): Promise<readonly string[]> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return parts.map((part) => part.toString('latin1'))
}

const HOSTS: typeof EXPRESSES = [['node:http', (listener) => listener], ...EXPRESSES]

describe.each(HOSTS)('nodeTarget with %s', (_name, create) => {
  /** The listener's view of a request that is cut. */
  function watch() {
    const seen = new Gate<object>()
    const listener: RequestListener = (request, response) => {
      let length = 0
      request.on('data', (part: Buffer) => {
        length += part.length
      })
      request.on('error', () => {})
      response.on('close', () => seen.open({ length, complete: request.complete, answered: response.writableFinished }))
    }
    return { seen: seen.promise, target: nodeTarget(create(listener)) }
  }

  it('passes the handler a declared length and one part, or parts without a length', async () => {
    const requests: object[] = []
    const target = nodeTarget(
      create(async (request, response) => {
        const { 'content-length': length, 'transfer-encoding': encoding, host } = request.headers
        const parts = await readParts(request)
        requests.push({ length, encoding, host, sizes: parts.map((part) => part.length) })
        response.writeHead(202, { 'x-a': ['1', '2'] }).end('ž')
      }),
    )
    const sender = newSender(target)
    expect(await sender.send('0123456789')).toMatchObject({ status: 202, body: 'ž', headers: { 'x-a': '1, 2' } })
    await sender.chunked('0123456789', 4)
    await sender.chunked('0123456789', 100)
    const host = 'localhost'
    expect(requests).toEqual([
      { length: '10', encoding: undefined, host, sizes: [10] },
      { length: undefined, encoding: 'chunked', host, sizes: [4, 4, 2] },
      { length: undefined, encoding: 'chunked', host, sizes: [10] },
    ])
  })

  it('sends two lines of one header', async () => {
    const target = nodeTarget(create(({ rawHeaders }, response) => response.end(rawHeaders.join('\n'))))
    const { body } = await newSender(target).send(event, { tamper: 'two-headers' })
    expect(body.match(/^x-service-signature\nsha256=\w{64}$/gim)).toHaveLength(2)
  })

  it.each([
    ['connection that is cut while it works', {}, { length: 10, complete: true, answered: false }],
    ['body that is cut', { bytes: 3 }, { length: 3, complete: false, answered: false }],
  ])('lets the handler see a %s', async (_what, options, expected) => {
    const { seen, target } = watch()
    const clock = manualClock()
    const attempt = newSender(target, clock).abortAfter('0123456789', '2s', options)
    await clock.advance('1999ms')
    expect(await Promise.race([seen, 'nothing yet'])).toBe('nothing yet')
    await clock.advance(1)
    expect(await attempt).toMatchObject({ failure: 'aborted', status: undefined, durationMs: 2_000 })
    expect(await seen).toEqual(expected)
  })

  it('reports a handler that cuts the connection', async () => {
    const target = nodeTarget(create((request) => request.socket.destroy()))
    expect(await newSender(target).send('x')).toMatchObject({ failure: 'connection', error: { code: 'ECONNRESET' } })
  })

  it('transfers large bodies both ways', async () => {
    const text = 'x'.repeat(3_000_000)
    const target = nodeTarget(create(async (request, response) => response.end((await readParts(request)).join(''))))
    const { body } = await newSender(target).send(text)
    expect(body === text).toBe(true)
    const { body: again } = await newSender(target).chunked(text, 100_000)
    expect(again === text).toBe(true)
  })

  it('accepts an answer that comes before the body has been read', async () => {
    const target = nodeTarget(create((_request, response) => void response.writeHead(413).end()))
    expect(await newSender(target).send('x'.repeat(3_000_000))).toMatchObject({ status: 413 })
  })

  it('delivers an answer whose request is destroyed after it', async () => {
    const listener: RequestListener = (request, response) => {
      response.writeHead(413).end(Buffer.alloc(10_000, 'x'))
      request.destroy()
    }
    const { status, body } = await newSender(nodeTarget(create(listener))).send('x')
    expect([status, body.length]).toEqual([413, 10_000])
  })

  it('leaves nothing open that would keep a process alive', async () => {
    const target = nodeTarget(create((_request, response) => void response.end()))
    const open = () => process.getActiveResourcesInfo().filter((name) => /TCP|Server/.test(name)).length
    const before = open()
    for (let count = 0; count < 20; count++) await newSender(target).send('x')
    expect(open()).toBe(before)
  })
})

describe('nodeTarget', () => {
  it('accepts a function that returns a promise, like app.callback() of Koa, and uses the given path', async () => {
    const callback = async (request: IncomingMessage, response: { end(text?: string): unknown }) => {
      await once(request.resume(), 'end')
      response.end(request.url)
    }
    const path = '/hooks/acme?x=1'
    expect(await newSender(nodeTarget(callback, { path })).send('x')).toMatchObject({ status: 200, body: path })
  })

  it('refuses a server, which it could not send to', () => {
    expect(() => nodeTarget(createServer() as never)).toThrow(/urlTarget/)
  })
})

describe('fetchTarget', () => {
  it('passes a request whose length is declared, or a stream', async () => {
    const seen: object[] = []
    const target = fetchTarget(
      async (request) => {
        seen.push({ url: request.url, length: request.headers.get('content-length'), body: await request.text() })
        return new Response('ok', { status: 201, headers: { 'x-a': '1' } })
      },
      { path: '/hooks?x=1' },
    )
    const sender = newSender(target)
    expect(await sender.send('0123456789')).toMatchObject({ status: 201, body: 'ok', headers: { 'x-a': '1' } })
    await sender.chunked('0123456789', 4)
    const url = 'http://localhost/hooks?x=1'
    expect(seen).toEqual([
      { url, length: '10', body: '0123456789' },
      { url, length: null, body: '0123456789' },
    ])
  })

  it('aborts the signal of the request, and breaks the body off', async () => {
    let seen: Promise<unknown> = Promise.resolve()
    let signal: AbortSignal | undefined
    const target = fetchTarget(async (request) => {
      signal = request.signal
      seen = request.text().catch(() => 'broken off')
      await seen
      return new Response()
    })
    const clock = manualClock()
    const attempt = newSender(target, clock).abortAfter('0123456789', '1s', { bytes: 4 })
    await clock.advance('1s')
    expect(await attempt).toMatchObject({ failure: 'aborted' })
    expect(signal?.aborted).toBe(true)
    expect(await seen).toBe('broken off')
  })

  it('treats a handler that throws as unreachable', async () => {
    const target = fetchTarget(() => {
      throw new Error('broken')
    })
    expect(await newSender(target).send(event)).toMatchObject({ failure: 'connection', error: { message: 'broken' } })
  })
})

describe('fastifyTarget', () => {
  const newApp = (answer: (request: IncomingMessage) => unknown) => {
    const app = fastify()
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    app.post('/webhooks', (request) => answer(request.raw))
    return app
  }

  it('goes through the routes and hooks of the app', async () => {
    const app = newApp(async (raw) => (await readParts(raw)).join(''))
    app.addHook('onSend', async (_request, reply) => void reply.header('x-hook', 'was here'))
    const sender = newSender(fastifyTarget(app))
    expect(await sender.send('0123456789')).toMatchObject({ status: 200, body: '0123456789' })
    const { headers, body } = await sender.chunked('0123456789', 3)
    expect([headers['x-hook'], body]).toEqual(['was here', '0123456789'])
    expect(await newSender(fastifyTarget(app, { path: '/other' })).send('x')).toMatchObject({ status: 404 })
  })

  it('lets the handler see the part of a body that is cut, without an end, and the connection close', async () => {
    const seen: string[] = []
    let closed: Promise<unknown> | undefined
    const app = newApp((raw) => {
      raw.on('data', (part: Buffer) => seen.push(String(part)))
      raw.on('end', () => seen.push('end'))
      raw.on('error', () => {})
      closed = new Promise((resolve) => raw.once('close', () => resolve(seen.push('closed'))))
      return closed
    })
    const clock = manualClock()
    const attempt = newSender(fastifyTarget(app), clock).abortAfter('0123456789', '1s', { bytes: 4 })
    await clock.advance('1s')
    expect(await attempt).toMatchObject({ failure: 'aborted' })
    await closed
    expect(seen).toEqual(['0123', 'closed'])
  })
})

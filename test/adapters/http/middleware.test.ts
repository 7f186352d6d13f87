import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import express5, { type RequestHandler } from 'express'
import express4 from 'express4'
import { expressHandler } from 'postern/express'
import { expect, it, onTestFinished } from 'vitest'
import { middlewares, middlewaresOf4 } from './middlewares.ts'
import { createScene, sample, serve, toOutgoing, withoutLength } from './scene.ts'
import type { Headers } from './wire.ts'

const LIMIT = 100_000
const [HALF, MANY] = [Buffer.from('{"half":'), Buffer.alloc(2 * LIMIT, 0x20)]

/** Sends a request, its second part only when the whole answer to the first is there. Returns the answer's status and text. */
async function ask(port: number, headers: Headers, first: Uint8Array, rest?: Uint8Array): Promise<string> {
  const sent = httpRequest({
    port,
    host: '127.0.0.1',
    path: `/webhooks?n=${++count}`, // no cache answers it
    method: 'POST',
    headers: { ...toOutgoing(headers), 'accept-encoding': 'gzip' },
    agent: false,
  })
  sent.write(first)
  if (rest === undefined) sent.end()
  const [answer] = await once(sent, 'response')
  const body = await buffer(answer)
  sent.on('error', () => {}) // the connection may be closed by now
  sent.end(rest)
  const text = answer.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
  return `${answer.statusCode} ${text}`
}

let count = 0

/** Returns what senders get from a receiver behind the middleware: a good delivery, and one for each kind of refusal. */
async function answersBehind(makeApp: typeof express5, makeHandlers: () => readonly RequestHandler[]) {
  let arrived = 0
  const start = ({ receiver }: ReturnType<typeof createScene>) => {
    const app = makeApp().use((_request, _response, next) => {
      arrived++
      next()
    })
    return serve(app.use(...makeHandlers()).post('/webhooks', expressHandler(receiver)))
  }
  const scene = createScene({ maxBodyBytes: LIMIT }, (id) => {
    if (id === failing.id) throw new Error('no')
  })
  const [good, chunked, failing] = [sample(), sample(), sample()]
  const bad = sample({ tamper: 'no-header' }).headers
  const [port, hastyPort] = [await start(scene), await start(createScene({ deadlineMs: 100, leaseMs: 2_000 }))]
  const answers = {
    good: ask(port, good.headers, good.bytes),
    'in chunks': ask(port, withoutLength(chunked.headers), chunked.bytes),
    'with a failing handler': ask(port, failing.headers, failing.bytes),
    unsigned: ask(port, { ...bad, 'content-length': 10 }, HALF, Buffer.from('12')),
    'unsigned, in chunks': ask(port, withoutLength(bad), HALF, HALF),
    'too large': ask(port, { ...bad, 'content-length': MANY.length }, HALF, MANY.subarray(HALF.length)),
    'too large, in chunks': ask(port, withoutLength(good.headers), MANY, HALF),
    compressed: ask(port, { ...good.headers, 'content-encoding': 'gzip' }, good.bytes),
    slow: ask(hastyPort, { ...good.headers, 'content-length': 10 }, HALF, Buffer.from('12')),
  }
  await Promise.all(Object.values(answers))
  const before = arrived
  const cut = ask(port, withoutLength(sample().headers), HALF, HALF)
  await expect.poll(() => arrived).toBe(before + 1)
  const closing = scene.receiver.close({ timeoutMs: Infinity })
  const refused = ask(port, good.headers, good.bytes)
  const all = { ...answers, 'cut by close()': cut, 'after close()': refused }
  const texts = Object.entries(all).map(async ([name, answer]) => [name, (await answer).replace(/,"id".*/, '')])
  return { ...Object.fromEntries(await Promise.all(texts)), unfinished: (await closing).unfinished }
}

const EXPECTED = {
  good: '200 {"code":"handled"',
  'in chunks': '200 {"code":"handled"',
  'with a failing handler': '500 {"code":"handler_failed"',
  unsigned: '401 {"code":"unauthorized"}',
  'unsigned, in chunks': '401 {"code":"unauthorized"}',
  'too large': '413 {"code":"body_too_large"}',
  'too large, in chunks': '413 {"code":"body_too_large"}',
  compressed: '415 {"code":"unsupported_encoding"}',
  slow: '408 {"code":"body_timeout"}',
  'cut by close()': '503 {"code":"closing"}',
  'after close()': '503 {"code":"closing"}',
  unfinished: 0,
}

it.each([
  ['Express 4', express4, { ...middlewares, ...middlewaresOf4 }],
  ['Express 5', express5, middlewares],
])(
  'below the most used middleware of %s, each sender reads its whole answer, and the process lives',
  async (_, app, rows) => {
    const uncaught: unknown[] = []
    const keep = (error: unknown) => uncaught.push(error)
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, keep)
      onTestFinished(() => void process.off(event, keep))
    }
    const answers = Object.entries(rows).map(async ([name, make]) => [name, await answersBehind(app, make)])
    expect(Object.fromEntries(await Promise.all(answers))).toEqual(
      Object.fromEntries(Object.keys(rows).map((name) => [name, EXPECTED])),
    )
    expect(uncaught).toEqual([])
  },
)

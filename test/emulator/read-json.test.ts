import { request as requestHttp } from 'node:http'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen, stop, urlOf } from '../../tools/emulator/http/listen.ts'
import { readObject } from '../../tools/emulator/http/read-json.ts'
import { Refusal } from '../../tools/emulator/refusal.ts'

const app = new Hono()
app.post('/any', async (c) => c.json(await readObject(c)))
app.onError((error, c) => c.text(error instanceof Refusal ? `${error.kind}: ${error.message}` : 'failed'))

/** Reads a request: returns the value, or the kind and message of the refusal. */
async function read(body: string, contentType: string | null = 'application/json') {
  const headers: Record<string, string> = contentType === null ? {} : { 'content-type': contentType }
  const request = new Request('http://localhost/any', { method: 'POST', body, headers })
  if (contentType === null) request.headers.delete('content-type')
  return (await app.request(request)).text()
}

describe('a JSON body', () => {
  it.each(['application/json', 'Application/JSON', 'application/json;charset=utf-8', 'application/json  ; x=y'])(
    'is read if its type is %s',
    async (type) => {
      expect(await read('\ufeff{"a":1}', type)).toBe('{"a":1}')
    },
  )

  it.each([null, 'text/plain', 'application/jsonp', 'application/json x', 'x application/json'])(
    'is refused if its type is %s',
    async (type) => {
      expect(await read('{"a":1}', type)).toMatch(/^media-type: /)
    },
  )

  it.each(['[]', 'null', '1', '"text"'])('that is no object is refused: %s', async (body) => {
    expect(await read(body)).toBe('invalid: the body must be a JSON object')
  })

  it.each(['', '{"a":1}}'])('that is not JSON is refused: %s', async (body) => {
    expect(await read(body)).toBe('bad-json: the body is not JSON')
  })
})

describe('a body of 1 MiB, and not a byte more, is read over a socket', () => {
  const bodyOf = (size: number) => `{"a":"${'é'.repeat((size - 8) / 2)}"}`

  it.each([
    ['declared', (body: string) => ({ 'content-length': String(Buffer.byteLength(body)) })],
    ['in chunks', () => ({ 'transfer-encoding': 'chunked' })],
  ] as const)('%s', async (_how, headersOf) => {
    const server = await listen(app.fetch, { port: 0, host: '127.0.0.1', owner: 'The test' })
    onTestFinished(() => stop(server))
    const send = (body: string) =>
      new Promise<string>((resolve, reject) => {
        const headers = { 'content-type': 'application/json', ...headersOf(body) }
        const url = `${urlOf(server, '127.0.0.1')}/any`
        const request = requestHttp(url, { method: 'POST', headers, agent: false }, async (response) => {
          resolve(Buffer.concat(await response.toArray()).toString())
        })
        request.on('error', reject)
        request.write(Buffer.from(body).subarray(0, 9))
        request.end(Buffer.from(body).subarray(9))
      })
    const largest = bodyOf(1_024 * 1_024)
    expect(await send(largest)).toBe(largest)
    expect(await send(`${largest} `)).toBe('too-large: a body has 1048576 bytes at most')
  })
})

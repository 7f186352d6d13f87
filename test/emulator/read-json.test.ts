import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { readJson, readObject } from '../../src/emulator/http/read-json.ts'
import { Refusal } from '../../src/emulator/refusal.ts'

/** Reads a request: returns the value, or the kind and message of the refusal. */
async function read(body: string | ReadableStream, contentType: string | null = 'application/json') {
  const app = new Hono()
  app.post('/any', async (c) => c.json(await readObject(c)))
  app.post('/shaped', async (c) => c.json(await readJson(c, z.object({ size: z.number() }))))
  app.onError((error, c) => c.text(error instanceof Refusal ? `${error.kind}: ${error.message}` : 'failed'))
  const headers: Record<string, string> = contentType === null ? {} : { 'content-type': contentType }
  const path = typeof body === 'string' && body.includes('size') ? '/shaped' : '/any'
  const request = new Request(`http://localhost${path}`, {
    method: 'POST',
    body,
    headers,
    duplex: 'half',
  } as RequestInit)
  if (contentType === null) request.headers.delete('content-type')
  return (await app.request(request)).text()
}

describe('a JSON body', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=utf-8',
    'application/json  ; x=y',
  ])('is read if its type is %s', async (type) => {
    expect(await read('{"a":1}', type)).toBe('{"a":1}')
  })

  it.each([
    ...[null, 'text/plain', 'application/jsonp', 'application/json x', 'x application/json'],
    ...['text/application/json', 'multipart/form-data; x=application/json'],
  ])('is refused if its type is %s', async (type) => {
    expect(await read('{"a":1}', type)).toMatch(/^media-type: /)
  })

  it.each(['[]', '[{}]', 'null', '1', '"text"', 'true'])('that is no object is refused: %s', async (body) => {
    expect(await read(body)).toBe('invalid: the body must be a JSON object')
  })

  it.each(['', '{', '{"a":}', 'a', '{"a":1}}', ']]', '"\\', '{"a":"\\"}'])(
    'that is not JSON is refused: %s',
    async (body) => {
      expect(await read(body)).toBe('bad-json: the body is not JSON')
    },
  )

  it('of another shape is refused, and the rest of a shape is left out', async () => {
    expect(await read('{"size":"big"}')).toMatch(/^invalid: size: /)
    expect(await read('{"size":2,"more":1}')).toBe('{"size":2}')
  })

  it('that breaks off is refused', async () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"a"'))
        controller.error(new Error('cut'))
      },
    })
    expect(await read(body)).toBe('bad-request: the body is incomplete')
  })
})

import { describe, expect, it } from 'vitest'
import { BodyTooLarge, readWhole } from '../../src/client/read-body.ts'

/** A body in pieces that records whether it was cancelled. */
function inPieces(pieces: Iterable<Uint8Array>) {
  const iterator = pieces[Symbol.iterator]()
  const state = { isCancelled: false }
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = iterator.next()
      if (next.done) controller.close()
      else controller.enqueue(next.value)
    },
    cancel() {
      state.isCancelled = true
    },
  })
  return { body, state }
}

function* repeat(piece: Uint8Array, times: number): Generator<Uint8Array> {
  for (let n = 0; n < times; n++) yield piece
}

describe('readWhole', () => {
  it('keeps status, headers and text, including a character in two pieces', async () => {
    const bytes = new TextEncoder().encode('{"a":"ä€"}')
    const { body } = inPieces([...bytes].map((byte) => new Uint8Array([byte])))
    const whole = await readWhole(new Response(body, { status: 201, headers: { 'x-a': 'b' } }))
    expect([whole.status, whole.headers.get('x-a'), whole.text]).toEqual([201, 'b', '{"a":"ä€"}'])
  })

  it('accepts an answer without a body', async () => {
    for (const status of [200, 204, 205, 304]) {
      const whole = await readWhole(new Response(null, { status }))
      expect([whole.status, whole.text]).toEqual([status, ''])
    }
  })

  it('accepts a body up to the limit, and cancels longer ones', async () => {
    const piece = new Uint8Array(16).fill(97)
    const most = inPieces(repeat(piece, 64))
    expect((await readWhole(new Response(most.body), 1_024)).text.length).toBe(1_024)
    const more = inPieces(repeat(piece, 66))
    const refused = readWhole(new Response(more.body), 1_024)
    await expect(refused).rejects.toBeInstanceOf(BodyTooLarge)
    await expect(refused).rejects.toThrow('it has over 1024 bytes')
    expect(more.state.isCancelled).toBe(true)
  })

  it.each([{ redirected: true }, { type: 'opaqueredirect' }])(
    'reports a redirect that fetch hides: %j',
    async (fields) => {
      const followed = Object.defineProperties(
        new Response('secret'),
        Object.fromEntries(
          Object.entries({ ...fields, url: 'https://other.example/' }).map(([name, value]) => [name, { value }]),
        ),
      )
      const whole = await readWhole(followed)
      expect([whole.status, whole.headers.get('location'), whole.text]).toEqual([302, 'https://other.example/', ''])
    },
  )
})

import { describe, expect, it } from 'vitest'
import { BodyTooLarge, readWhole } from '../../src/client/read-body.ts'

/** A body of so many pieces of 16 bytes that records whether it was cancelled. */
function inPieces(count: number) {
  const state = { left: count, isCancelled: false }
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (state.left === 0) return controller.close()
      state.left--
      controller.enqueue(new Uint8Array(16).fill(97))
    },
    cancel() {
      state.isCancelled = true
    },
  })
  return { body, state }
}

describe('readWhole', () => {
  it('accepts a body up to the limit, and cancels longer ones', async () => {
    expect((await readWhole(new Response(inPieces(64).body), 1_024)).text.length).toBe(1_024)
    const more = inPieces(66)
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

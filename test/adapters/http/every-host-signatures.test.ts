import { sign } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { distinctHosts, type Host } from './hosts.ts'
import { deliver, expectAnswer, expectUntouched, SECRET, sample, sampleOf, startScene } from './scene.ts'
import { exchange, head } from './wire.ts'

describe.each(distinctHosts)('$name', (host: Host) => {
  describe('signatures', () => {
    it('handles a signed delivery', async () => {
      const scene = await startScene(host)
      const delivery = sample()
      expectAnswer(await deliver(scene, delivery), 200, 'handled', delivery.id)
      expect([...scene.runs]).toEqual([[delivery.id, 1]])
      expectAnswer(await deliver(scene, delivery), 200, 'duplicate', delivery.id)
      expect([...scene.runs]).toEqual([[delivery.id, 1]])
    })

    const right = sample({ id: 'evt_forged' })
    const digest = sign(right.bytes, SECRET).slice('sha256='.length)
    const forgeries: readonly (readonly [string, string | readonly string[] | undefined])[] = [
      ['missing', undefined],
      ['of another secret', sign(right.bytes, 'another secret')],
      ['not ASCII', `sha256=${digest.slice(0, -1)}\u00e9`],
      ['with a blank between its digits', `sha256=${digest.slice(0, 32)} ${digest.slice(33)}`],
      ['twice, both right', [`sha256=${digest}`, `sha256=${digest}`]],
      ['in a list with a right one', `sha256=${digest},sha256=${'0'.repeat(64)}`],
    ]
    it.each(forgeries)('refuses a signature that is %s, and then accepts the valid one', async (_, signature) => {
      const scene = await startScene(host)
      const { 'x-service-signature': _right, ...headers } = right.headers
      const forged = signature === undefined ? headers : { ...headers, 'x-service-signature': signature }
      expectAnswer(await exchange(scene.port, Buffer.from(head(forged), 'latin1'), right.bytes), 401, 'unauthorized')
      expectUntouched(scene)
      expect(scene.log()).not.toContain(digest)
      expect(scene.log()).not.toContain(SECRET)
      expectAnswer(await deliver(scene, right), 200, 'handled', right.id)
    })

    it('accepts a signature between blanks', async () => {
      const scene = await startScene(host)
      const signature = `  \t sha256=${digest} \t `
      expectAnswer(await deliver(scene, right, { 'x-service-signature': signature }), 200, 'handled', right.id)
    })

    const text = right.bytes.toString()
    it.each([
      ['a byte order mark before it', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), right.bytes])],
      ['an invalid byte for a character', Buffer.from(text.replace('ë', 'y'), 'latin1').fill(0xff, 80, 81)],
      ['nothing at all', Buffer.alloc(0)],
    ])('refuses a body that became %s after it was signed', async (_, bytes) => {
      const scene = await startScene(host)
      const headers = { ...right.headers, 'content-length': bytes.length }
      expectAnswer(await deliver(scene, { ...right, bytes, headers }), 401, 'unauthorized')
      expectUntouched(scene)
    })
  })

  describe('signed bodies', () => {
    const event = events.contact.created({ firstName: 'Zoë 🚪' }, { id: 'evt_odd' })
    const json = JSON.stringify(event)
    it.each([
      ['with a lone surrogate', json.replace('🚪', '\\ud83d')],
      ['of exactly the limit', `${json}${' '.repeat(1_048_576 - Buffer.byteLength(json))}`],
    ])('handles one %s', async (_, body) => {
      const scene = await startScene(host)
      expectAnswer(await deliver(scene, sampleOf(body)), 200, 'handled', 'evt_odd')
      expect([...scene.runs]).toEqual([['evt_odd', 1]])
    })
  })
})

import { createHmac } from 'node:crypto'
import { sign } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { type Host, hosts } from './hosts.ts'
import { deliver, expectAnswer, expectUntouched, SECRET, sample, sampleOf, startScene } from './scene.ts'
import { exchange, head } from './wire.ts'

describe.each(hosts)('$name', (host: Host) => {
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
      ['empty', ''],
      ['of another secret', sign(right.bytes, 'another secret')],
      ['of another algorithm', `sha1=${createHmac('sha1', SECRET).update(right.bytes).digest('hex')}`],
      [
        'of another algorithm under the right name',
        `sha256=${createHmac('sha1', SECRET).update(right.bytes).digest('hex')}`,
      ],
      ['without its prefix', digest],
      ['a prefix alone', 'sha256='],
      ['a prefix in capitals', `SHA256=${digest}`],
      ['one digit short', `sha256=${digest.slice(0, -1)}`],
      ['one digit long', `sha256=${digest}0`],
      ['not hexadecimal', `sha256=${digest.slice(0, -1)}g`],
      ['not ASCII', `sha256=${digest.slice(0, -1)}\u00e9`],
      ['with a blank inside', `sha256= ${digest}`],
      ['with a blank between its digits', `sha256=${digest.slice(0, 32)} ${digest.slice(33)}`],
      ['in base64', `sha256=${Buffer.from(digest, 'hex').toString('base64')}`],
      ['of 8,000 characters', `sha256=${'0'.repeat(8_000)}`],
      ['twice, both right', [`sha256=${digest}`, `sha256=${digest}`]],
      ['twice, one right', [`sha256=${'0'.repeat(64)}`, `sha256=${digest}`]],
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

    it.each([
      ['in capitals', `sha256=${digest.toUpperCase()}`],
      ['between blanks', `  \t sha256=${digest} \t `],
    ])('accepts a signature %s', async (_, signature) => {
      const scene = await startScene(host)
      expectAnswer(await deliver(scene, right, { 'x-service-signature': signature }), 200, 'handled', right.id)
    })

    const text = right.bytes.toString()
    it.each([
      ['a byte order mark before it', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), right.bytes])],
      ['a blank behind it', Buffer.from(`${text} `)],
      ['a line break behind it', Buffer.from(`${text}\n`)],
      ['a NUL behind it', Buffer.from(`${text}\0`)],
      ['an escape for a character', Buffer.from(text.replace('ë', '\\u00eb'))],
      ['an invalid byte for a character', Buffer.from(text.replace('ë', 'y'), 'latin1').fill(0xff, 80, 81)],
      ['other blanks', Buffer.from(JSON.stringify(JSON.parse(text)))],
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
      ['pretty-printed', JSON.stringify(event, null, 2)],
      ['with CRLF', JSON.stringify(event, null, 2).replaceAll('\n', '\r\n')],
      ['with a lone surrogate', json.replace('🚪', '\\ud83d')],
      ['with an id twice, the last one counting', `{"id":"evt_first",${json.slice(1)}`],
      ['nested 200,000 deep', json.replace(/}$/, `,"more":${'['.repeat(200_000)}${']'.repeat(200_000)}}`)],
      ['with 4,000 keys', json.replace(/}$/, `,${Array.from({ length: 4_000 }, (__, key) => `"k${key}":1e400`)}}`)],
      ['of 256 KB', json.replace(/}$/, `,"more":"${'é'.repeat(131_072)}"}`)],
      ['of exactly the limit', `${json}${' '.repeat(1_048_576 - Buffer.byteLength(json))}`],
    ])('handles one %s', async (_, body) => {
      const scene = await startScene(host)
      expectAnswer(await deliver(scene, sampleOf(body)), 200, 'handled', 'evt_odd')
      expect([...scene.runs]).toEqual([['evt_odd', 1]])
    })

    const refused: readonly (readonly [string, string | Uint8Array, string])[] = [
      ['empty', '', 'invalid_json'],
      ['null', 'null', 'invalid_envelope'],
      ['an array', '[]', 'invalid_envelope'],
      ['a number', '1', 'invalid_envelope'],
      ['half of its JSON', json.slice(0, 40), 'invalid_json'],
      ['behind a byte order mark', `\ufeff${json}`, 'invalid_utf8'],
      ['not UTF-8', Buffer.from(json, 'latin1'), 'invalid_utf8'],
      ['UTF-16', Buffer.from(json, 'utf16le'), 'invalid_utf8'],
      ['without an id', json.replace('"id":"evt_odd",', ''), 'invalid_envelope'],
      [
        'with an id only inside __proto__',
        json.replace('"id":"evt_odd"', '"__proto__":{"id":"evt_odd"}'),
        'invalid_envelope',
      ],
      ['with an id that is a number', json.replace('"evt_odd"', '1'), 'invalid_envelope'],
      ['with an id of 100 KB', json.replace('evt_odd', 'x'.repeat(100_000)), 'invalid_envelope'],
    ]
    it.each(refused)('refuses one that is %s', async (_, body, code) => {
      const scene = await startScene(host)
      const answer = await deliver(scene, sampleOf(body))
      expectAnswer(answer, 400, code)
      expectUntouched(scene)
      expectAnswer(await deliver(scene, sampleOf(event)), 200, 'handled', 'evt_odd')
    })

    it.each(['constructor', '__proto__', 'toString', 'a b', 'https://example.test/?a=1#b', '🚪'.repeat(50)])(
      'treats the id %j as an ordinary one',
      async (id) => {
        const scene = await startScene(host)
        expectAnswer(await deliver(scene, sample({ id })), 200, 'handled', id)
        expectAnswer(await deliver(scene, sample({ id })), 200, 'duplicate', id)
      },
    )
  })
})

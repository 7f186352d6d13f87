import { createHash, createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { StoredDelivery } from '../../src/emulator/delivery.ts'
import { explainSignature } from '../../src/emulator/inspector/explain-signature.ts'
import type { Signing } from '../../src/emulator/signing.ts'
import type { Webhook } from '../../src/emulator/webhooks.ts'

const SECRET = 'whsec_0123456789abcdef0123456789abcdef'
const hmac = (body: string | Uint8Array, secret = SECRET) => createHmac('sha256', secret).update(body).digest('hex')

/** Explains the signature of a body. */
function explain(body: string | Uint8Array, secret: string | undefined = SECRET, signing: Signing = 'valid') {
  const delivery = { bytes: Buffer.from(body), signedBytes: undefined, signing }
  const webhook = secret === '' ? undefined : { secret }
  // An explanation needs no more of them.
  return explainSignature(delivery as unknown as StoredDelivery, webhook as Webhook | undefined, 'lower')
}

const wrongOf = (...given: Parameters<typeof explain>) =>
  Object.fromEntries(explain(...given).wrong.map(({ what, digest }) => [what, digest]))

describe('the explanation of a signature', () => {
  const body = '{"id":"evt_é"}'
  const common = { bytes: 15, bodySha256: createHash('sha256').update(body).digest('hex') }

  it('has each step, and of the secret its start and its length', () => {
    expect(explain(body)).toMatchObject({
      ...{ ...common, digest: hmac(body), sent: [`sha256=${hmac(body)}`], isRight: true },
      secret: { shown: 'whsec_012', length: 38 },
    })
  })

  it.each([
    ['a'.repeat(100), 'a'.repeat(10)],
    ['a'.repeat(16), 'aaaa'],
    ['abc', ''],
  ])('shows ten characters of a secret, or a quarter if that is less: %s', (secret, shown) => {
    expect(explain(body, secret).secret).toEqual({ shown, length: secret.length })
  })

  it('says that a signature is wrong', () => {
    expect(explain(body, SECRET, 'short')).toMatchObject({ isRight: false, digest: hmac(body) })
    expect(explain(body, SECRET, 'none')).toMatchObject({ isRight: false, sent: [] })
  })

  it('is only of the body once the webhook has been deleted', () => {
    expect(explain(body, '')).toEqual({ ...common, sent: [], isRight: false, wrong: [] })
  })
})

describe('the digests of usual mistakes', () => {
  const body = '{\n "id": "evt_1",  "n": [1]\n}\r\n'

  it('are those that the mistakes compute', () => {
    expect(wrongOf(body)).toEqual({
      'JSON.stringify of the parsed body': hmac('{"id":"evt_1","n":[1]}'),
      'the parsed body, serialized with two spaces of indentation': hmac(
        '{\n  "id": "evt_1",\n  "n": [\n    1\n  ]\n}',
      ),
      'the parsed body, serialized with spaces after : and ,': hmac('{"id": "evt_1", "n": [1]}'),
      'the body with a line break at its end': hmac(`${body}\n`),
      'the body without the line break at its end': hmac('{\n "id": "evt_1",  "n": [1]\n}'),
      'an empty body: other code had read it before': hmac(''),
      '"[object Object]": a parsed body was converted to text': hmac('[object Object]'),
      'the secret with a line break at its end': hmac(body, `${SECRET}\n`),
      'the secret in quotes': hmac(body, `"${SECRET}"`),
      'the secret without whsec_': hmac(body, SECRET.slice(6)),
    })
  })

  it('leave out what makes no difference', () => {
    const names = Object.keys(wrongOf('{"id":"evt_1"}', 'another secret'))
    expect(names).toContain('the body with a line break at its end')
    expect(names).not.toContain('JSON.stringify of the parsed body')
    expect(names).not.toContain('the body without the line break at its end')
    expect(names).not.toContain('the secret without whsec_')
  })

  it('have no parsed body if the body is not JSON', () => {
    expect(Object.keys(wrongOf('no JSON')).filter((what) => /parsed body(?! was)/.test(what))).toEqual([])
    expect(wrongOf('one\nline\n')['the body without the line break at its end']).toBe(hmac('one\nline'))
  })
})

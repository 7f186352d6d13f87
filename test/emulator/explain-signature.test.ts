import { createHash, createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { StoredDelivery } from '../../tools/emulator/delivery.ts'
import { explainSignature } from '../../tools/emulator/inspector/explain-signature.ts'
import type { Signing } from '../../tools/emulator/signing.ts'
import type { Webhook } from '../../tools/emulator/webhooks.ts'
import { SIGNATURE_MISTAKES } from '../../tools/wire/signature-mistakes.ts'

const SECRET = 'whsec_0123456789abcdef0123456789abcdef'
const hmac = (body: string | Uint8Array, secret = SECRET) => createHmac('sha256', secret).update(body).digest('hex')

/** Explains the signature of a body. */
function explain(body: string | Uint8Array, secret: string | undefined = SECRET, signing: Signing = 'valid') {
  const delivery = { bytes: Buffer.from(body), signedBytes: undefined, signing }
  const webhook = secret === '' ? undefined : { secret }
  // An explanation needs no more of them.
  return explainSignature(delivery as unknown as StoredDelivery, webhook as Webhook | undefined, 'lower')
}

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
  const factsOf = (digest: string) =>
    explain(body)
      .wrong.filter((each) => each.digest === digest)
      .map(({ fact }) => fact)

  it.each([
    ['reserialised', hmac('{"id":"evt_1","n":[1]}')],
    ['final_newline', hmac('{\n "id": "evt_1",  "n": [1]\n}')],
    ['secret_quoted', hmac(body, `"${SECRET}"`)],
    ['base64', Buffer.from(hmac(body), 'hex').toString('base64')],
    ['other_algorithm', createHmac('sha1', SECRET).update(body).digest('hex')],
  ] as const)('are those of the catalogue: %s', (code, digest) => {
    expect([...new Set(factsOf(digest))]).toEqual([SIGNATURE_MISTAKES[code].fact])
  })

  it('leave out a digest that is right, in whatever form', () => {
    const digests = explain(body).wrong.map(({ digest }) => digest.toLowerCase())
    expect(digests).not.toContain(hmac(body))
  })
})

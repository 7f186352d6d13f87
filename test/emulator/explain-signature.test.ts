import { createHash, createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { StoredDelivery } from '../../tools/emulator/delivery.ts'
import { explainSignature } from '../../tools/emulator/inspector/explain-signature.ts'
import { checkEmulatorOptions } from '../../tools/emulator/options.ts'
import type { Webhook } from '../../tools/emulator/webhooks.ts'

const SECRET = 'whsec_0123456789abcdef0123456789abcdef'
const hmac = (body: string) => createHmac('sha256', SECRET).update(body).digest('hex')

/** Explains the signature of a body. */
function explain(body: string, secret = SECRET) {
  const delivery = { bytes: Buffer.from(body), signedBytes: undefined, signing: 'valid' }
  const webhook = secret === '' ? undefined : { secret }
  // An explanation needs no more of them.
  return explainSignature(
    delivery as unknown as StoredDelivery,
    webhook as Webhook | undefined,
    checkEmulatorOptions({}),
  )
}

describe('the explanation of a signature', () => {
  const body = '{"id":"evt_é"}'
  const bodySha256 = createHash('sha256').update(body).digest('hex')
  const common = { bytes: 15, bodySha256, signatureHeader: 'X-Service-Signature', answer: 400 }

  it('has each step, and of the secret its start and its length', () => {
    expect(explain(body)).toMatchObject({
      ...common,
      digest: hmac(body),
      sent: [`sha256=${hmac(body)}`],
      isRight: true,
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

  it('is only of the body once the webhook has been deleted', () => {
    expect(explain(body, '')).toEqual({ ...common, sent: [], isRight: false, wrong: [] })
  })
})

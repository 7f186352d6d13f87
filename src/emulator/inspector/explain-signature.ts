import { createHash, createHmac } from 'node:crypto'
import { verify } from '../../protocol/signature.ts'
import { formatJson } from '../../wire/json-forms.ts'
import type { Assumed } from '../assumptions.ts'
import type { SignatureSteps, WrongDigest } from '../contract.ts'
import type { StoredDelivery } from '../delivery.ts'
import { signatureOf } from '../make-attempt.ts'
import type { Webhook } from '../webhooks.ts'

const SHOWN_OF_SECRET = 10

/** Explains the signature of a delivery step by step, with the digests of the usual mistakes. Shows only the start of the secret. */
export function explainSignature(
  delivery: StoredDelivery,
  webhook: Webhook | undefined,
  digits: Assumed['signatureCase'],
): SignatureSteps {
  const { bytes } = delivery
  const common = { bytes: bytes.length, bodySha256: createHash('sha256').update(bytes).digest('hex') }
  if (webhook === undefined) return { ...common, sent: [], isRight: false, wrong: [] }
  const { secret } = webhook
  const digest = hmac(bytes, secret)
  const sent = signatureOf(delivery, webhook, digits)
  return {
    ...common,
    secret: { shown: secret.slice(0, Math.min(SHOWN_OF_SECRET, secret.length >> 2)), length: secret.length },
    digest,
    sent,
    isRight: verify(bytes, [...sent], secret),
    wrong: listWrong(bytes, secret).filter((each) => each.digest !== digest),
  }
}

/** Digests of the usual mistakes, to recognize one in a log of the receiver. */
function listWrong(bytes: Uint8Array, secret: string): readonly WrongDigest[] {
  const text = Buffer.from(bytes).toString()
  const wrong = (what: string, body: string | Uint8Array, key = secret) => ({ what, digest: hmac(body, key) })
  return [
    ...writeAgain(text).map(([what, body]) => wrong(what, body)),
    wrong('the body with a line break at its end', `${text}\n`),
    wrong('the body without the line break at its end', text.replace(/\r?\n$/, '')),
    wrong('an empty body: other code had read it before', ''),
    wrong('"[object Object]": a parsed body was converted to text', '[object Object]'),
    wrong('the secret with a line break at its end', bytes, `${secret}\n`),
    wrong('the secret in quotes', bytes, `"${secret}"`),
    ...(secret.startsWith('whsec_') ? [wrong('the secret without whsec_', bytes, secret.slice(6))] : []),
  ]
}

function writeAgain(text: string): readonly (readonly [string, string])[] {
  try {
    const value = JSON.parse(text)
    return [
      ['JSON.stringify of the parsed body', JSON.stringify(value)],
      ['the parsed body, serialized with two spaces of indentation', JSON.stringify(value, null, 2)],
      ['the parsed body, serialized with spaces after : and ,', formatJson(value, 'spaced')],
    ]
  } catch {
    return []
  }
}

function hmac(body: string | Uint8Array, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

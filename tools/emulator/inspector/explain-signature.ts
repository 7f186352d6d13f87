import { createHash, createHmac } from 'node:crypto'
import { hasRecord, parseEnvelope } from '../../../src/protocol/envelope.ts'
import { type OpenData, splitType, type WebhookEvent } from '../../../src/protocol/events.ts'
import { Rejection } from '../../../src/protocol/outcome.ts'
import { verify } from '../../../src/protocol/signature.ts'
import { SIGNATURE_MISTAKES, type SignatureMistake } from '../../wire/signature-mistakes.ts'
import type { SignatureSteps, WrongDigest } from '../contract.ts'
import type { StoredDelivery } from '../delivery.ts'
import { signatureOf } from '../make-attempt.ts'
import type { EmulatorSettings } from '../options.ts'
import type { Webhook } from '../webhooks.ts'

const SHOWN_OF_SECRET = 10

/** Explains the signature of a delivery step by step, with the digests of the usual mistakes. Shows only the start of the secret. */
export function explainSignature(
  delivery: StoredDelivery,
  webhook: Webhook | undefined,
  { assumed, signatureHeader }: Pick<EmulatorSettings, 'assumed' | 'signatureHeader'>,
): SignatureSteps {
  const { bytes } = delivery
  const bodySha256 = createHash('sha256').update(bytes).digest('hex')
  const read = parseEnvelope(bytes)
  const isWhole = (event: WebhookEvent<string, OpenData>) =>
    splitType(event.type) === undefined || hasRecord(event.data)
  const answer = read instanceof Rejection ? 400 : isWhole(read.event) ? 200 : 422
  const common = { bytes: bytes.length, bodySha256, signatureHeader, answer } as const
  if (webhook === undefined) return { ...common, sent: [], isRight: false, wrong: [] }
  const { secret } = webhook
  const digest = createHmac('sha256', secret).update(bytes).digest('hex')
  const sent = signatureOf(delivery, webhook, assumed.signatureCase)
  return {
    ...common,
    secret: { shown: secret.slice(0, Math.min(SHOWN_OF_SECRET, secret.length >> 2)), length: secret.length },
    digest,
    sent,
    isRight: verify(bytes, [...sent], secret),
    wrong: listWrong(bytes, secret, digest),
  }
}

/** Digests of the usual mistakes, to recognize one in a log of the receiver. Those of which only the form is wrong are left out. */
function listWrong(bytes: Uint8Array, secret: string, right: string): readonly WrongDigest[] {
  return Object.values<SignatureMistake>(SIGNATURE_MISTAKES).flatMap(({ fact, sign }) =>
    sign(bytes, Buffer.from(secret))
      .map((header) => header.replace(/^sha\d+=/, ''))
      .filter((digest) => digest.toLowerCase() !== right)
      .map((digest) => ({ fact, digest })),
  )
}

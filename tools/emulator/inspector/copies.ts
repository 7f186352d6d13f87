import { parseJson } from '../../../src/protocol/parse-json.ts'
import { quoteForShell } from '../../../src/protocol/show.ts'
import { SIGNATURE_NAME } from '../../../src/protocol/signature-name.ts'
import { escapeHidden, isPlainText } from '../../wire/hidden.ts'
import type { DeliveryDetail, SignatureSteps } from '../contract.ts'

type CopiedDelivery = Pick<DeliveryDetail, 'eventId' | 'eventType' | 'body'> &
  Pick<SignatureSteps, 'signatureHeader' | 'sent' | 'isRight' | 'answer'> & { readonly url: string }

/** Limit of one argument of a program. Linux takes 128 KiB. */
const MOST_OF_ARGUMENT = 128_000

/** Writes a command for a POSIX shell that sends the same bytes with the same headers. */
export function toCurl({ url, body, signatureHeader, sent }: CopiedDelivery): string {
  const headers = ['Content-Type: application/json', ...sent.map((value) => `${signatureHeader}: ${value}`)]
  // -g: curl takes brackets and braces of a URL literally.
  const options = [`curl -gi ${quoteForShell(url)}`, ...headers.map((header) => `-H ${quoteForShell(header)}`)]
  // A terminal acts on control characters, and a shell drops zero bytes.
  const isText = isPlainText(body.text) && isWhole(body) && body.base64.length < MOST_OF_ARGUMENT
  if (isText) return [...options, `--data-raw ${quoteForShell(body.text)}`].join(' \\\n  ')
  return `printf %s ${quoteForShell(body.base64)} | base64 -d | ${[...options, '--data-binary @-'].join(' \\\n  ')}`
}

/** Returns true if the text encodes to the exact bytes. Bytes that are not UTF-8 became U+FFFD in it. */
function isWhole({ text, base64 }: CopiedDelivery['body']): boolean {
  return Buffer.from(text).equals(Buffer.from(base64, 'base64'))
}

/** Writes one JSON object on a line. `postern verify --delivery` reads it, and so does the page's field for a recorded body. */
export function toFixture({ eventId, eventType, body, signatureHeader, sent }: CopiedDelivery): string {
  const headers = {
    'content-type': 'application/json',
    ...(sent.length > 0 && { [signatureHeader.toLowerCase()]: sent.join(', ') }),
  }
  return JSON.stringify({ eventId, eventType, headers, bodyBase64: body.base64 })
}

/** Writes a test for vitest that passes unchanged. Its receiver is an example that the user replaces. */
export function toVitest({ eventId, eventType, body, signatureHeader, isRight, answer }: CopiedDelivery): string {
  const bytes =
    isPlainText(body.text) && isWhole(body)
      ? `Buffer.from(${toLiteral(body.text)})`
      : `Buffer.from(${toLiteral(body.base64)}, 'base64')`
  const status = isRight ? answer : 401
  const why = isRight ? ', which is no event' : ' with a wrong signature'
  const title = status === 200 ? `handles ${eventType} ${eventId}` : `refuses ${eventType} ${eventId}${why}`
  const signature = isRight ? 'sign(body, secret)' : "sign(body, 'another secret')"
  const named = signatureHeader === SIGNATURE_NAME ? '' : `, signatureHeader: ${toLiteral(signatureHeader)}`
  const own: unknown = Object(parseJson(body.text)).id
  const id = typeof own === 'string' ? own : eventId
  return `import { createReceiver, sign } from 'postern'
import { expect, test } from 'vitest'

test(${toLiteral(title)}, async () => {
  const secret = 'test-secret'
  const body = ${bytes}
  const handled: string[] = []
  // Replace this with your own: import { receiver } from '../src/receiver'
  const receiver = createReceiver({ secret${named} }).on('*', (event) => {
    handled.push(event.id)
  })
  const outcome = await receiver.receive({ body, signature: ${signature} })
  expect(outcome.status).toBe(${status})
  expect(handled).toEqual(${status === 200 ? `[${toLiteral(id)}]` : '[]'})
})
`
}

function toLiteral(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${escapeHidden(inner)}'`
}

/** Forms in which the page copies a delivery. */
export const COPIES: Readonly<Record<string, (delivery: CopiedDelivery) => string>> = {
  curl: toCurl,
  test: toVitest,
  fixture: toFixture,
}

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { type Answer, digestOf, type Event, HandWritten, refusing, SECRET, signaturesOf } from './hand-written.ts'

const headerOf = ({ headers }: IncomingMessage) => String(headers['x-service-signature'] ?? '')

export class NoVerification extends HandWritten {
  override isGenuine(): boolean {
    return true
  }
}

export class Reserialising extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return super.isGenuine(Buffer.from(JSON.stringify(this.parse(body)) ?? ''), request)
  }
}

export class StringDecoding extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    let text = ''
    for await (const part of request) text += part
    return Buffer.from(text)
  }
}

export class DecodingAtTheEnd extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    return Buffer.from((await super.read(request)).toString())
  }
}

export class Trimming extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    return Buffer.from((await super.read(request)).toString('latin1').trim(), 'latin1')
  }
}

export class UnequalLengthCompare extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return timingSafeEqual(Buffer.from(headerOf(request)), Buffer.from(`sha256=${digestOf(body)}`))
  }
}

export class PrefixCompare extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return (
      request.headers['x-service-signature'] !== undefined && `sha256=${digestOf(body)}`.startsWith(headerOf(request))
    )
  }
}

export class NoPrefixNeeded extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return headerOf(request).replace('sha256=', '').toLowerCase() === digestOf(body)
  }
}

export class TakesSha1 extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const digest = createHmac('sha1', SECRET).update(body).digest('hex')
    return headerOf(request) === `sha1=${digest}` || super.isGenuine(body, request)
  }
}

export class CaseSensitive extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return headerOf(request) === `sha256=${digestOf(body)}`
  }
}

export const LeaksDigest = refusing((body) => ({ text: `expected sha256=${digestOf(body)}` }))

export const LeaksSecret = refusing(() => ({ text: JSON.stringify({ error: 'no match', config: { secret: SECRET } }) }))

export const LeaksStack = refusing(() => ({ text: new Error('no match').stack ?? '' }))

const digestBytesOf = (body: Buffer) => Buffer.from(digestOf(body), 'hex')

export const LeaksDigestInHeader = refusing((body) => ({
  headers: { 'x-expected-signature': `sha256=${digestOf(body)}` },
}))

export const LeaksDigestAsBase64 = refusing((body) => ({ text: `expected ${digestBytesOf(body).toString('base64')}` }))

export const LeaksDigestAsBase64Url = refusing((body) => ({
  text: `expected ${digestBytesOf(body).toString('base64url')}`,
}))

export const LeaksDigestInUpperCase = refusing((body) => ({ text: digestOf(body).toUpperCase() }))

export const LeaksDigestAsBuffer = refusing((body) => ({
  text: JSON.stringify({ expected: digestBytesOf(body) }, null, 1),
}))

export const LeaksSecretInHeader = refusing(() => ({ headers: { 'x-debug': `secret=${encodeURIComponent(SECRET)}` } }))

export class TakesFirstHeader extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return this.matches(body, signaturesOf(request)[0] ?? '')
  }
}

export class TakesLastHeader extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return this.matches(body, signaturesOf(request).at(-1) ?? '')
  }
}

export class TakesAnyHeader extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return signaturesOf(request).some((signature) => this.matches(body, signature))
  }
}

export class TakesAnyOfAList extends HandWritten {
  override matches(body: Buffer, signature: string): boolean {
    return signature.split(',').some((part) => super.matches(body, part))
  }
}

/** Its decoder stops silently at the first character that is not a digit. */
export class IgnoresTail extends HandWritten {
  override matches(body: Buffer, signature: string): boolean {
    const given = Buffer.from(signature.slice(7), 'hex')
    return signature.startsWith('sha256=') && given.length === 32 && timingSafeEqual(given, digestBytesOf(body))
  }
}

export class InflatesBeforeCheck extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    const body = await super.read(request)
    return request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
  }
}

export class InflatesWithoutLimit extends InflatesBeforeCheck {
  override readonly maxBodyBytes = Number.POSITIVE_INFINITY
}

export class InflatesAfterCheck extends HandWritten {
  override parse(body: Buffer): Event | undefined {
    try {
      return super.parse(body[0] === 0x1f ? gunzipSync(body) : body)
    } catch {
      return undefined
    }
  }
}

export class DropsByteOrderMark extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    const body = await super.read(request)
    return body[0] === 0xef ? body.subarray(3) : body
  }
}

export class RemembersSignatures extends HandWritten {
  readonly #known = new Set<string>()

  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    if (this.#known.has(headerOf(request))) return true
    const isGenuine = super.isGenuine(body, request)
    if (isGenuine) this.#known.add(headerOf(request))
    return isGenuine
  }
}

export class TakesKnownSignaturesForDuplicates extends HandWritten {
  readonly #known = new Set<string>()

  override async answer(request: IncomingMessage): Promise<Answer> {
    const signature = headerOf(request)
    if (this.#known.has(signature)) return this.onDuplicate()
    const answer = await super.answer(request)
    if (answer.status === 200) this.#known.add(signature)
    return answer
  }
}

/** Makes a receiver that accepts another secret too, as in a rotation in which the old one is not set. */
const alsoTaking = (secret: string) =>
  class extends HandWritten {
    override matches(body: Buffer, signature: string): boolean {
      return super.matches(body, signature) || signature === `sha256=${digestOf(body, secret)}`
    }
  }

export const TakesEmptySecret = alsoTaking('')
export const TakesUndefinedSecret = alsoTaking(String(undefined))
export const TakesNullSecret = alsoTaking(String(null))
export const TakesNoneSecret = alsoTaking('None')
export const TakesNilSecret = alsoTaking('<nil>')
export const TakesSampleSecret = alsoTaking('changeme')
export const TakesDefaultSecret = alsoTaking('secret')
export const TakesTestSecret = alsoTaking('test')
export const TakesDevSecret = alsoTaking('dev-secret')
export const TakesWebhookForSecret = alsoTaking('webhook')

/** Makes a receiver that compares only this part of the digits, or what this makes of them. */
const comparing = (read: (digits: string) => unknown) =>
  class extends HandWritten {
    override matches(body: Buffer, signature: string): boolean {
      return /^sha256=[0-9a-f]{64}$/.test(signature) && read(signature.slice(7)) === read(digestOf(body))
    }
  }

export const ComparesFirstHalf = comparing((digits) => digits.slice(0, 32))
export const ComparesSecondHalf = comparing((digits) => digits.slice(32))
export const ComparesNumbers = comparing((digits) => Number(`0x${digits}`))

/** The check is in a branch for requests with a length. */
export class ChecksNoChunks extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return request.headers['transfer-encoding'] !== undefined || super.isGenuine(body, request)
  }
}

/** The check is registered for POST, and the route for every method. */
export class ChecksNoPut extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    return request.method === 'PUT' ? { status: 200 } : super.answer(request)
  }
}

/** Its successes hold its configuration. */
export class LeaksSecretInSuccess extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    return Number(request.headers['content-length']) > 1_048_576 ? { status: 413 } : super.answer(request)
  }

  override async handle(event: Event): Promise<Answer> {
    return { ...(await super.handle(event)), text: JSON.stringify({ ok: true, secret: SECRET }) }
  }
}

/** The signature is checked by a hook of the JSON parser, and forms have another parser. */
export class ChecksJsonOnly extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return request.headers['content-type'] === 'application/x-www-form-urlencoded' || super.isGenuine(body, request)
  }

  override parse(body: Buffer): Event | undefined {
    const { id, type, timestamp, payload } = Object.fromEntries(new URLSearchParams(body.toString()))
    if (payload !== undefined) return super.parse(Buffer.from(payload))
    return id && type && timestamp ? { id, type, timestamp } : super.parse(body)
  }
}

/** The parser of uploads runs before the code that checks the signature of what is left. */
export class ChecksNoMultipart extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return request.headers['content-type']?.startsWith('multipart/form-data') || super.isGenuine(body, request)
  }

  override parse(body: Buffer): Event | undefined {
    const [, payload] = /name="payload"\r\n\r\n(.*)\r\n/.exec(body.toString()) ?? []
    return super.parse(payload === undefined ? body : Buffer.from(payload))
  }
}

export class ChecksNoText extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return request.headers['content-type'] === 'text/plain' || super.isGenuine(body, request)
  }
}

export class AnswersDuplicatesUnchecked extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const event = this.parse(body)
    return (event !== undefined && this.isDone(event)) || super.isGenuine(body, request)
  }
}

export const LeaksWarningOfPhp = refusing(() => ({
  text: '<b>Warning</b>:  Undefined array key 1 in <b>/srv/app/receiver.php</b> on line <b>7</b>',
}))

export const LeaksTraceAsJson = refusing(() => ({
  text: '{"exception":"ErrorException","file":"\\/srv\\/app\\/Hook.php","line":12,"trace":[]}',
}))

export class MatchesPatterns extends HandWritten {
  override matches(body: Buffer, signature: string): boolean {
    try {
      return signature !== '' && new RegExp(`^${signature}$`).test(`sha256=${digestOf(body)}`)
    } catch {
      return false
    }
  }
}

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Answer, digestOf, HandWritten, refusing, SECRET, signaturesOf } from './hand-written.ts'

// Receivers that read the wrong part of a request, one part too many, or the previous one.

/** Some gateways pass header names on as they were sent, and code compares them case-sensitively. */
export class KnowsOneCase extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return request.rawHeaders.includes('X-Service-Signature') && super.isGenuine(body, request)
  }
}

export class ChecksOneTypeOnly extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const type = this.parse(body)?.type
    return (type !== undefined && !type.startsWith('contact.')) || super.isGenuine(body, request)
  }
}

export class ForgetsDeletions extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return this.parse(body)?.type === 'contact.deleted' || super.isGenuine(body, request)
  }
}

export class ForgetsImports extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return this.parse(body)?.type === 'import.completed' || super.isGenuine(body, request)
  }
}

/** Answers events by which other services try a URL before it looks at the signature, if there is one. */
export class AnswersTrials extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const isTrial = signaturesOf(request).length === 0 && this.parse(body)?.type === 'webhook.test'
    return isTrial || super.isGenuine(body, request)
  }
}

/** Has a back door for its own tests. */
export class TrustsTests extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const event = { test: false, ...this.parse(body) }
    return event.test || super.isGenuine(body, request)
  }
}

const SECRETS: Readonly<Record<string, string>> = { check: SECRET }

/** Makes a receiver that signs with this secret if it knows none of the account. */
const withoutSecret = (missing: string) =>
  class extends HandWritten {
    override isGenuine(body: Buffer, request: IncomingMessage): boolean {
      const { accountKey = 'check' } = this.parse(body) ?? {}
      const secret = Object.hasOwn(SECRETS, accountKey) ? SECRETS[accountKey] : missing
      return signaturesOf(request).join() === `sha256=${digestOf(body, secret)}`
    }
  }

export const EmptySecretOfUnknownAccount = withoutSecret('')
export const UndefinedSecretOfUnknownAccount = withoutSecret(String(undefined))
export const NoneSecretOfUnknownAccount = withoutSecret('None')

export class SecretsInAnObject extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const { accountKey = 'check' } = this.parse(body) ?? {}
    const secret = SECRETS[accountKey]
    return secret !== undefined && signaturesOf(request).join() === `sha256=${digestOf(body, secret)}`
  }
}

export class ReadsBeforeCheck extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    if (body.toString() === 'null') throw new TypeError('Cannot read properties of null')
    return super.isGenuine(body, request)
  }
}

export class TakesAnyPrefix extends HandWritten {
  override matches(body: Buffer, signature: string): boolean {
    const [, digits, ...more] = signature.toLowerCase().split('=')
    return more.length === 0 && digits === digestOf(body)
  }
}

export class TrustsItsConnection extends HandWritten {
  readonly #trusted = new WeakSet<Socket>()

  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const isGenuine = this.#trusted.has(request.socket) || super.isGenuine(body, request)
    if (isGenuine) this.#trusted.add(request.socket)
    return isGenuine
  }
}

/** One object serves all requests of a connection, and its buffer is never emptied. */
export class KeepsBodies extends HandWritten {
  readonly #read = new WeakMap<Socket, Buffer>()

  override async read(request: IncomingMessage): Promise<Buffer> {
    const all = Buffer.concat([this.#read.get(request.socket) ?? Buffer.alloc(0), await super.read(request)])
    this.#read.set(request.socket, all)
    return all
  }
}

/** Refuses a request without a signature before it reads its body, which it takes for the start of the next one. */
export class LeavesUnsignedBodies extends HandWritten {
  readonly #left = new WeakMap<Socket, Buffer>()

  override async read(request: IncomingMessage): Promise<Buffer> {
    const body = await super.read(request)
    const left = this.#left.get(request.socket) ?? Buffer.alloc(0)
    this.#left.set(request.socket, signaturesOf(request).length === 0 ? body : Buffer.alloc(0))
    return Buffer.concat([left, body])
  }
}

/** Makes a receiver that writes the answers with such a status, and does not end them. */
const neverEnding = (isAffected: (status: number) => boolean) =>
  class extends HandWritten {
    override createServer(): Server {
      return super.createServer().prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
        if (request.url !== '/webhooks') return
        const { end } = response
        response.end = () => {
          if (!isAffected(response.statusCode)) return end.call(response, '', 'utf8')
          response.write('ok')
          return response
        }
      })
    }
  }

export const NeverEndsAnswers = neverEnding(() => true)
export const NeverEndsRefusals = neverEnding((status) => status >= 400)

export const LeaksDigestInFirstLine = refusing((body) => ({ words: `expected sha256=${digestOf(body)}` }))

const STACK = { text: 'RangeError: no\n    at check (/srv/app/receiver.js:12:7)' }

export class LeaksStackOfEncoding extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    if (request.headers['content-encoding'] === undefined) return super.answer(request)
    request.resume()
    return { status: 415, ...STACK }
  }
}

export class LeaksStackOfSize extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    if (Number(request.headers['content-length'] ?? 0) < 1_048_576) return super.answer(request)
    request.resume()
    return { status: 413, ...STACK }
  }
}

export class LeaksStackOfGet extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    return request.method === 'GET' ? { status: 404, ...STACK } : super.answer(request)
  }
}

export class LeaksStackOfLength extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    const answer = await super.answer(request)
    return signaturesOf(request).join().length === 69 ? { ...answer, ...STACK } : answer
  }
}

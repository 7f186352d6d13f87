import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export const SECRET = 'a secret for the checks'

export interface Event {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly accountKey?: string
  readonly data?: { readonly record?: Readonly<Record<string, unknown>> }
}

export interface Answer {
  readonly status: number
  /** The reason phrase. */
  readonly words?: string
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
}

export function signaturesOf({ headersDistinct }: IncomingMessage): readonly string[] {
  return headersDistinct['x-service-signature'] ?? []
}

export function digestOf(body: Buffer | string, secret: string = SECRET): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

/**
 * A receiver of node:http as one may write it by hand, without this library. It has no fault; each faulty one replaces one of its methods.
 * It answers its own probe at /probe.
 */
export class HandWritten {
  readonly maxBodyBytes: number = 4 * 1_048_576
  readonly #done = new Set<string>()
  readonly #running = new Map<string, Promise<Answer>>()
  readonly #failing = new Map<string, number>()
  readonly #runs = new Map<string, number>()

  createServer(): Server {
    return createServer(async (request, response) => {
      const url = new URL(request.url ?? '', 'http://localhost')
      if (url.pathname === '/probe') this.#probe(url.searchParams, request.method, response)
      else send(response, await this.answer(request).catch((error) => this.onError(error)))
    })
  }

  async answer(request: IncomingMessage): Promise<Answer> {
    if (request.method !== 'POST') return { status: 405 }
    const body = await this.read(request)
    if (body.length > this.maxBodyBytes) return { status: 413 }
    if (!this.isGenuine(body, request)) return this.refuse(body)
    const event = this.parse(body)
    return event === undefined ? { status: 400 } : this.receive(event)
  }

  async read(request: IncomingMessage): Promise<Buffer> {
    const parts: Buffer[] = []
    let length = 0
    for await (const part of request.iterator({ destroyOnReturn: false })) {
      parts.push(part)
      length += part.length
      if (length > this.maxBodyBytes) break
    }
    return Buffer.concat(parts)
  }

  isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const [signature = '', ...more] = signaturesOf(request)
    return more.length === 0 && this.matches(body, signature)
  }

  matches(body: Buffer, signature: string): boolean {
    if (!/^sha256=[0-9a-f]{64}$/i.test(signature)) return false
    return timingSafeEqual(Buffer.from(signature.slice(7), 'hex'), Buffer.from(digestOf(body), 'hex'))
  }

  refuse(_body: Buffer): Answer {
    return { status: 401 }
  }

  parse(body: Buffer): Event | undefined {
    try {
      const value = JSON.parse(body.toString())
      return typeof value === 'object' && value !== null ? value : undefined
    } catch {
      return undefined
    }
  }

  onError(_error: unknown): Answer {
    return { status: 500 }
  }

  async receive(event: Event): Promise<Answer> {
    if (this.isDone(event)) return this.onDuplicate()
    const key = this.keyOf(event)
    const running = this.#running.get(key)
    if (running !== undefined) return running
    const answer = this.handle(event).finally(() => this.#running.delete(key))
    this.#running.set(key, answer)
    return answer
  }

  async handle(event: Event): Promise<Answer> {
    await this.work(event)
    this.note(event)
    return { status: 200 }
  }

  onDuplicate(): Answer {
    return { status: 200 }
  }

  /** Returns the key by which duplicates are recognized. */
  keyOf({ id }: Event): string {
    return id
  }

  isDone(event: Event): boolean {
    return this.#done.has(this.keyOf(event))
  }

  note(event: Event): void {
    this.#done.add(this.keyOf(event))
  }

  async work(event: Event): Promise<void> {
    await sleep(5)
    const failures = this.#failing.get(event.id) ?? 0
    if (failures > 0) {
      this.#failing.set(event.id, failures - 1)
      throw new Error('the probe asked for it')
    }
    this.write(event)
    this.#runs.set(event.id, (this.#runs.get(event.id) ?? 0) + 1)
  }

  /** Writes the record to its database. */
  write(_event: Event): void {}

  #probe(query: URLSearchParams, method: string | undefined, response: ServerResponse): void {
    const id = query.get('id') ?? ''
    if (method === 'POST') this.#failing.set(id, (this.#failing.get(id) ?? 0) + 1)
    send(response, { status: 200, text: JSON.stringify({ runs: this.#runs.get(id) ?? 0 }) })
  }
}

/** Makes a receiver that adds this to its refusals. */
export const refusing = (toAnswer: (body: Buffer) => Partial<Answer>) =>
  class extends HandWritten {
    override refuse(body: Buffer): Answer {
      return { status: 401, ...toAnswer(body) }
    }
  }

function send(response: ServerResponse, { status, words, text = '', headers = {} }: Answer): void {
  if (words !== undefined) response.statusMessage = words
  response.writeHead(status, headers).end(text)
}

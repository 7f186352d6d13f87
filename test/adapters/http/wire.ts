import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** One HTTP answer, in the form of the wire. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type Headers = Readonly<Record<string, string | number | readonly string[]>>

/** Returns the head of a request as text; a list becomes one line for each of its values. */
export function head(headers: Headers, { method = 'POST', target = '/webhooks', version = '1.1' } = {}): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((single) => `${name}: ${single}\r\n`),
  )
  return `${method} ${target} HTTP/${version}\r\n${lines.join('')}\r\n`
}

/** Returns a body in chunked encoding, cut after every `size` bytes. */
export function chunked(body: Uint8Array, size: number): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), Buffer.from(part), Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

/** A bare TCP connection that follows HTTP only as far as the test makes it. */
export class Wire {
  readonly #socket: Socket
  #received = Buffer.alloc(0)
  #isClosed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (part) => {
      this.#received = Buffer.concat([this.#received, part])
    })
    socket.on('error', () => {}) // a reset is visible as a closed connection
    socket.on('close', () => {
      this.#isClosed = true
    })
  }

  static async open(port: number): Promise<Wire> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, 'connect')
    return new Wire(socket)
  }

  get isOpen(): boolean {
    return !this.#isClosed && !this.#socket.readableEnded
  }

  /** Writes the parts, one packet for each as far as the system allows. */
  async send(...parts: readonly (string | Uint8Array)[]): Promise<void> {
    for (const part of parts) {
      if (this.#socket.destroyed) return
      this.#socket.write(part)
      if (parts.length > 1) await sleep(0)
    }
  }

  /** Writes, and waits until the system has accepted the data. */
  flushed(part: Uint8Array): Promise<void> {
    return new Promise((resolve) => this.#socket.write(part, () => resolve()))
  }

  /** Ends only this side, like a sender that has sent everything. */
  end(): void {
    this.#socket.end()
  }

  /** Disconnects silently. */
  abort(): void {
    this.#socket.resetAndDestroy()
  }

  /** Returns the next whole answer; one to HEAD has no body. Rejects if the connection ends without one. */
  async answer({ isToHead = false } = {}): Promise<Answer> {
    for (;;) {
      const answer = this.#take(isToHead)
      if (answer !== undefined) return answer
      if (!this.isOpen) throw new Error(`the connection ended without an answer, after ${this.#received.length} bytes`)
      await this.#change()
    }
  }

  /** Returns the next answer, or undefined if the connection ends without one. */
  async answerOrEnd(): Promise<Answer | undefined> {
    while (this.isOpen && !this.#isComplete()) await this.#change()
    return this.#take()
  }

  /** Waits until the other side has closed the connection. */
  async closed(): Promise<void> {
    while (this.isOpen) await this.#change()
    this.#socket.destroy()
  }

  #isComplete(): boolean {
    return this.#parse() !== undefined
  }

  #take(isToHead = false): Answer | undefined {
    const parsed = this.#parse(isToHead)
    if (parsed === undefined) return undefined
    this.#received = this.#received.subarray(parsed.end)
    return parsed.answer
  }

  #parse(isToHead = false): { readonly answer: Answer; readonly end: number } | undefined {
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return undefined
    const [statusLine = '', ...lines] = this.#received.toString('latin1', 0, headEnd).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const end = headEnd + 4 + (isToHead ? 0 : Number(headers['content-length'] ?? 0))
    if (this.#received.length < end) return undefined
    const body = this.#received.toString('utf8', headEnd + 4, end)
    return { answer: { status: Number(statusLine.split(' ')[1]), headers, body }, end }
  }

  async #change(): Promise<void> {
    const events = ['data', 'end', 'close'] as const
    const stop = new AbortController()
    await Promise.race(events.map((event) => once(this.#socket, event, { signal: stop.signal }).catch(() => {})))
    stop.abort()
  }
}

/** Sends one request on its own connection, which is closed afterwards. */
export async function exchange(port: number, ...parts: readonly (string | Uint8Array)[]): Promise<Answer> {
  const wire = await Wire.open(port)
  try {
    await wire.send(...parts)
    return await wire.answer()
  } finally {
    wire.abort()
  }
}

import { events, type SignedOptions, signed } from '../../src/testing/testing.ts'
import { type Answer, type Sending, send } from './send.ts'

/** The program gets it as WEBHOOK_SECRET. */
export const SECRET = 'known on loopback only'

/** What the handler of the program is told to do with an event; see app/app.js. */
export interface Play {
  readonly text?: string
  readonly sleepMs?: number
  readonly failures?: number
  readonly throws?: 'error' | 'undefined' | 'null' | 'text'
}

export interface Told {
  readonly runs: number
  readonly ended: number
  readonly text?: string
}

export type Event = ReturnType<typeof event>

export function event(play: Play = {}) {
  return events.raw('runtime.case', { ...play })
}

/** Bytes and headers as the service sends them, or with one thing wrong. */
export function sign(body: Event | string | Uint8Array, options: Omit<SignedOptions, 'secret'> = {}) {
  return signed(body, { secret: SECRET, ...options })
}

/** The program of app/app.js, served by a runtime on this port. */
export class Target {
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  send(sending: Sending): Promise<Answer> {
    return send(this.#port, sending)
  }

  /** A whole delivery with its declared length. What is given replaces what the service would send. */
  deliver(
    body: Event | string | Uint8Array,
    { tamper, format, headers, ...rest }: Sending & Omit<SignedOptions, 'secret'> = {},
  ): Promise<Answer> {
    const delivery = sign(body, { ...(tamper && { tamper }), ...(format && { format }) })
    return this.send({
      headers: { ...delivery.headers, 'content-length': delivery.bytes.length, ...headers },
      body: [delivery.bytes],
      ...rest,
    })
  }

  async told({ id }: Event): Promise<Told> {
    const { text } = await this.send({ method: 'GET', path: `/told?id=${id}` })
    return JSON.parse(text) as Told // the program's own words
  }

  /** Codes of all errors that the receivers reported. */
  async errors(): Promise<readonly string[]> {
    const { text } = await this.send({ method: 'GET', path: '/errors' })
    return JSON.parse(text) as string[] // as above
  }
}

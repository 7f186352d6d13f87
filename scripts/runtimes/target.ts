import { events, type SignedOptions, signed } from '../../tools/testing/testing.ts'
import { type Answer, type Sending, send } from './send.ts'

/** The program's WEBHOOK_SECRET. */
export const SECRET = 'known on loopback only'

/** The instruction for the program's handler of an event; see app/app.js. */
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

/** Bytes and headers in the service's form, or with one fault. */
export function sign(body: Event | string | Uint8Array, options: Omit<SignedOptions, 'secret'> = {}) {
  return signed(body, { secret: SECRET, ...options })
}

/** Talks to the program of app/app.js, which a runtime serves on this port. */
export class Target {
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  send(sending: Sending): Promise<Answer> {
    return send(this.#port, sending)
  }

  /** Sends a whole delivery with its declared length. The given parts replace the service's. */
  deliver(
    body: Event | string | Uint8Array,
    { tamper, format, headers, ...rest }: Sending & Omit<SignedOptions, 'secret'> = {},
  ): Promise<Answer> {
    const delivery = sign(body, { ...(tamper && { tamper }), ...(format && { format }) })
    return this.send({
      headers: { ...delivery.headers, 'content-length': delivery.body.length, ...headers },
      body: [delivery.body],
      ...rest,
    })
  }

  async told({ id }: Event): Promise<Told> {
    const { text } = await this.send({ method: 'GET', path: `/told?id=${id}` })
    return JSON.parse(text) as Told // the program's own answer
  }

  /** Codes of all errors that the receivers reported. */
  async errors(): Promise<readonly string[]> {
    const { text } = await this.send({ method: 'GET', path: '/errors' })
    return JSON.parse(text) as string[] // as above
  }
}

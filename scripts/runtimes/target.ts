import { events, signed } from '../../tools/testing/testing.ts'
import { type Answer, type Sending, send } from './send.ts'

/** The program's WEBHOOK_SECRET. */
export const SECRET = 'known on loopback only'

/** The instruction for the program's handler of an event; see app/app.js. */
export interface Play {
  readonly text?: string
  readonly sleepMs?: number
}

export interface Told {
  readonly runs: number
  readonly ended: number
}

export type Event = ReturnType<typeof event>

export function event(play: Play = {}) {
  return events.raw('runtime.case', { ...play })
}

/** Bytes and headers in the service's form. */
export function sign(body: Event | string | Uint8Array) {
  return signed(body, { secret: SECRET })
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

  /** Sends a whole delivery with its declared length. */
  deliver(body: Event | string | Uint8Array, rest: Sending = {}): Promise<Answer> {
    const delivery = sign(body)
    const headers = { ...delivery.headers, 'content-length': delivery.body.length }
    return this.send({ headers, body: [delivery.body], ...rest })
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

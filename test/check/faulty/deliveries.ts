import type { IncomingMessage, Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type Event, HandWritten } from './hand-written.ts'

export class FiveMinuteTolerance extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    return Date.now() - Date.parse(event.timestamp) > 300_000 ? { status: 400 } : super.receive(event)
  }
}

export class ConflictOnDuplicate extends HandWritten {
  override onDuplicate(): Answer {
    return { status: 409 }
  }
}

export class UnauthorizedOnDuplicate extends HandWritten {
  override onDuplicate(): Answer {
    return { status: 401 }
  }
}

export class SmallLimit extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    return Number(request.headers['content-length']) > 100_000 ? { status: 413 } : super.answer(request)
  }
}

export class AcksBeforeWork extends HandWritten {
  override async handle(event: Event): Promise<Answer> {
    super.handle(event).catch(() => {})
    return { status: 200 }
  }
}

export class NotesBeforeWork extends HandWritten {
  override async handle(event: Event): Promise<Answer> {
    this.note(event)
    return super.handle(event)
  }
}

export class NoDedup extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    return this.handle(event)
  }
}

export class RacingDedup extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    const isDone = this.isDone(event)
    await sleep(100) // simulates a database query
    return isDone ? this.onDuplicate() : this.handle(event)
  }
}

export class WorksBeforeCheck extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const event = this.parse(body)
    if (event !== undefined && !this.isDone(event)) this.work(event).catch(() => {})
    if (event !== undefined) this.note(event)
    return super.isGenuine(body, request)
  }
}

export class RefusesUnknownTypes extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    const isKnown = /^contact\.\w+$|^(finance\.payment|sync|import|export)\./.test(event.type)
    return isKnown ? super.receive(event) : { status: 400, text: 'unknown type' }
  }
}

export class NeedsWholeRecord extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    const needs = event.type.startsWith('contact.') && event.data?.record?.email === undefined
    return needs ? { status: 422 } : super.receive(event)
  }
}

export class ReachesIntoRecord extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    const { record } = event.data as { readonly record: { readonly _id: string } } // the demonstrated mistake
    return record._id === '' ? { status: 422 } : super.receive(event)
  }
}

export class StrictSchema extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    const fields = ['_id', 'firstName', 'lastName', 'email', 'status']
    const isStrange = Object.keys(event.data?.record ?? {}).some((name) => !fields.includes(name))
    return isStrange ? { status: 422 } : super.receive(event)
  }
}

export class UpdatesOnlyWhatIsThere extends HandWritten {
  readonly #records = new Set<unknown>()

  override async receive(event: Event): Promise<Answer> {
    const id = event.data?.record?._id
    if (event.type === 'contact.updated' && event.id.includes('chk') && !this.#records.has(id)) return { status: 404 }
    this.#records.add(id)
    return super.receive(event)
  }
}

export class ExactContentType extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    return request.headers['content-type'] === 'application/json' ? super.answer(request) : { status: 415 }
  }
}

export class NeedsLength extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    const isChunked = request.headers['transfer-encoding'] !== undefined
    return isChunked ? { status: 411 } : super.answer(request)
  }
}

export class FailsOnBrokenJson extends HandWritten {
  override parse(body: Buffer): Event | undefined {
    return JSON.parse(body.toString())
  }
}

export class Redirects extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    request.resume()
    return { status: 308, headers: { location: `${request.url}/` } }
  }
}

export class SaysYesToGet extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    return request.method === 'GET' ? { status: 200, text: 'it works' } : super.answer(request)
  }
}

export class BusyForOthers extends HandWritten {
  #isBusy = false

  override async handle(event: Event): Promise<Answer> {
    if (this.#isBusy) return { status: 503 }
    this.#isBusy = true
    await sleep(100)
    this.#isBusy = false
    return super.handle(event)
  }
}

export class TurnsCopiesAway extends HandWritten {
  readonly #running = new Set<string>()

  override async receive(event: Event): Promise<Answer> {
    if (this.#running.has(event.id)) return { status: 409 }
    this.#running.add(event.id)
    try {
      return await super.receive(event)
    } finally {
      this.#running.delete(event.id)
    }
  }

  override async work(event: Event): Promise<void> {
    await sleep(300) // until all duplicates are there, on a busy machine too
    return super.work(event)
  }
}

export class KeepsAnyBody extends HandWritten {
  override readonly maxBodyBytes = Number.POSITIVE_INFINITY
}

/** An error of its body reader ends the process. */
export class DiesOfCuts extends HandWritten {
  #server: Server | undefined

  override createServer(): Server {
    this.#server = super.createServer()
    return this.#server
  }

  override async read(request: IncomingMessage): Promise<Buffer> {
    return super.read(request).catch((error) => {
      this.#server?.close()
      throw error
    })
  }
}

/** Has a pool of ten places, and gets a place back by its answer, which a cut connection never gets. */
class Pooled extends HandWritten {
  #free = 10
  readonly #waiting: (() => void)[] = []

  async inPool(request: IncomingMessage, work: () => Promise<Answer>): Promise<Answer> {
    while (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#free--
    const answer = await work()
    if (request.socket.destroyed) return answer
    this.#free++
    this.#waiting.shift()?.()
    return answer
  }
}

export class KeepsPlacesOfCuts extends Pooled {
  override async answer(request: IncomingMessage): Promise<Answer> {
    return this.inPool(request, () => super.answer(request))
  }
}

export class KeepsConnectionsOfCuts extends Pooled {
  override async answer(request: IncomingMessage): Promise<Answer> {
    const body = await this.read(request)
    const event = this.isGenuine(body, request) ? this.parse(body) : undefined
    if (event === undefined) return this.refuse(body)
    return this.inPool(request, () => sleep(20).then(() => this.receive(event)))
  }
}

export class NeverAnswers extends HandWritten {
  override answer(): Promise<Answer> {
    return new Promise(() => {})
  }
}

export class NeedsMilliseconds extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    if (!/\.\d{3}Z$/.test(event.timestamp)) throw new Error('time data does not match format')
    return super.receive(event)
  }
}

/** Makes a receiver whose function for times takes only these numbers of fractional digits. */
const parsing = (fraction: RegExp) =>
  class extends HandWritten {
    override async receive(event: Event): Promise<Answer> {
      const [, digits = ''] = /\.(\d+)/.exec(event.timestamp) ?? []
      if (digits !== '' && !fraction.test(digits)) throw new Error('time data does not match format')
      return super.receive(event)
    }
  }

export const TakesSixDigits = parsing(/^\d{1,6}$/)
export const TakesThreeOrSixDigits = parsing(/^(\d{3}|\d{6})$/)

export class ReadsLinesAsText extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    return Buffer.from((await super.read(request)).toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
  }
}

/** Its database accepts characters of up to three bytes. */
export class StoresThreeBytes extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    if (/[\u{10000}-\u{10ffff}]/u.test(JSON.stringify(event.data?.record))) throw new Error('Incorrect string value')
    return super.receive(event)
  }
}

export class CutsSlowBodies extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    const timer = setTimeout(() => request.destroy(), 500)
    return super.read(request).finally(() => clearTimeout(timer))
  }
}

export class HasFirewall extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    const body = await this.read(request)
    if (/<script|union select/i.test(String(body))) return { status: 403 }
    return this.isGenuine(body, request) ? this.receive(JSON.parse(String(body))) : this.refuse(body)
  }
}

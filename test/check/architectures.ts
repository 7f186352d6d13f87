import { createServer, type IncomingMessage, request as openRequest, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { listen } from '../adapters/http/hosts.ts'
import { type Answer, type Event, HandWritten } from './faulty/hand-written.ts'
import { OpensForMinutes } from './faulty/states.ts'

// Receivers without a fault and of other designs than Postern's: no check may fail for any of them.

/** An inbox: an event is acknowledged once stored, and a worker handles the events later, one by one; a failed one is retried after 5 s. */
export class Inbox extends HandWritten {
  readonly #stored = new Set<string>()
  #worker: Promise<unknown> = Promise.resolve()

  override async receive(event: Event): Promise<Answer> {
    if (!this.#stored.has(event.id)) {
      this.#stored.add(event.id)
      this.#enqueue(event)
    }
    return { status: 202 }
  }

  #enqueue(event: Event): void {
    const work = async () => {
      await sleep(100)
      await this.work(event).catch(() => sleep(5_000).then(() => this.#enqueue(event)))
    }
    // A failed event does not delay the others.
    this.#worker = Promise.race([this.#worker.then(work), this.#worker.then(() => sleep(150))])
  }
}

/** Refuses retries within 5 s of a failure, with a header that says so. */
export class AsksForPatience extends HandWritten {
  readonly #failedAt = new Map<string, number>()

  override async handle(event: Event): Promise<Answer> {
    const until = (this.#failedAt.get(event.id) ?? 0) + 5_000
    const left = Math.ceil((until - Date.now()) / 1_000)
    if (left > 0) return this.refuseFor(left)
    try {
      return await super.handle(event)
    } catch {
      this.#failedAt.set(event.id, Date.now())
      return this.refuseFor(5)
    }
  }

  refuseFor(seconds: number): Answer {
    return { status: 503, headers: { 'retry-after': String(seconds) } }
  }
}

/** Refuses retries as well, without the header. */
export class BacksOff extends AsksForPatience {
  override refuseFor(): Answer {
    return { status: 503 }
  }
}

/** Keeps its lease on an event after a failure: for 5 s the next delivery waits. */
export class HoldsDuplicates extends HandWritten {
  readonly #leases = new Map<string, Promise<unknown>>()

  override async handle(event: Event): Promise<Answer> {
    await this.#leases.get(event.id)
    try {
      return await super.handle(event)
    } catch {
      this.#leases.set(event.id, sleep(5_000))
      return { status: 500 }
    }
  }
}

/** Accepts four requests at a time, and asks the others to retry. */
export class LimitsItself extends HandWritten {
  #inside = 0

  override async answer(request: IncomingMessage): Promise<Answer> {
    if (this.#inside >= 4) {
      request.resume()
      return { status: 429, headers: { 'retry-after': '1' } }
    }
    this.#inside++
    return super.answer(request).finally(() => this.#inside--)
  }
}

/** Refuses by the head alone, and closes the connection right after its answer, whatever is still on its way. */
export class ClosesConnections extends HandWritten {
  override createServer(): Server {
    const server = super.createServer()
    server.on('request', (_request, response) => {
      response.shouldKeepAlive = false
      response.on('finish', () => response.socket?.destroySoon())
    })
    return server
  }

  override async answer(request: IncomingMessage): Promise<Answer> {
    const isHeaderLike = /^sha256=[0-9a-f]{64}$/i.test(String(request.headers['x-service-signature']))
    if (Number(request.headers['content-length']) > 1_048_576) return { status: 413 }
    return request.method === 'POST' && !isHeaderLike ? { status: 401 } : super.answer(request)
  }
}

/** Runs behind a proxy that buffers bodies, adds headers, and has its own limit. */
export class BehindProxy extends HandWritten {
  override createServer(): Server {
    const inner = listen(super.createServer())
    const proxy = createServer(async (request, response) => {
      const parts: Buffer[] = []
      let length = 0
      try {
        for await (const part of request) {
          length += part.length
          if (length <= 1_048_576) parts.push(part)
        }
      } catch {
        return // the connection was cut
      }
      if (length > 1_048_576) {
        response.writeHead(413).end('<html>413 Request Entity Too Large</html>')
        return
      }
      const { port } = await inner
      const { 'transfer-encoding': _, ...headers } = request.headers
      const onward = openRequest({
        // A kept connection may end while it is used again.
        port,
        path: request.url,
        method: request.method,
        host: '127.0.0.1',
        agent: false,
        headers: { ...headers, 'content-length': length, via: '1.1 proxy', 'x-forwarded-for': '127.0.0.1' },
      })
      onward.on('error', () => response.writeHead(502).end())
      onward.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      onward.end(Buffer.concat(parts))
    })
    proxy.on('close', async () => (await inner).close())
    return proxy
  }
}

/** Stores the signed bytes, whatever they are, and parses them later. */
export class StoresBytes extends Inbox {
  override async answer(request: IncomingMessage): Promise<Answer> {
    if (request.method !== 'POST') return { status: 405 }
    const body = await this.read(request)
    if (!this.isGenuine(body, request)) return { status: 401 }
    const event = this.parse(body)
    if (typeof event === 'object' && event !== null) await this.receive(event)
    return { status: 202 }
  }
}

/** Writes a record only if the event is later than the record's last one. */
export class LastWriteWins extends HandWritten {
  readonly #times = new Map<unknown, number>()

  override async work(event: Event): Promise<void> {
    const id = event.data?.record?._id
    const time = Date.parse(event.timestamp)
    if (id !== undefined && time <= (this.#times.get(id) ?? 0)) return
    await super.work(event)
    this.#times.set(id, time)
  }
}

/** Does nothing if the record has not changed. */
export class SkipsWhatIsEqual extends HandWritten {
  readonly #last = new Map<unknown, string>()

  override async work(event: Event): Promise<void> {
    const { record } = event.data ?? {}
    const text = JSON.stringify(record)
    if (record !== undefined && this.#last.get(record._id) === text) return
    await super.work(event)
    this.#last.set(record?._id, text)
  }
}

/** Runs behind a firewall that refuses requests without a user agent. */
export class NeedsUserAgent extends HandWritten {
  override async answer(request: IncomingMessage): Promise<Answer> {
    if (request.headers['user-agent'] !== undefined) return super.answer(request)
    request.resume()
    return { status: 403 }
  }
}

/** Hides from requests without a signature. */
export class HidesItself extends HandWritten {
  override refuse(): Answer {
    return { status: 404 }
  }
}

/** Handles one request after the other. */
export class OneAtATime extends HandWritten {
  #last: Promise<unknown> = Promise.resolve()

  override async answer(request: IncomingMessage): Promise<Answer> {
    const answer = this.#last.then(() => super.answer(request))
    this.#last = answer.catch(() => {})
    return answer
  }
}

/** Its circuit breaker closes soon, and says when. */
export class OpensForSeconds extends OpensForMinutes {
  override readonly openMs = 2_000

  override refuseWhileOpen(): Answer {
    return { status: 503, headers: { 'retry-after': '2' } }
  }
}

/** Is slow for its first answers, like a function that must start. */
export class StartsSlowly extends HandWritten {
  #started: Promise<unknown> | undefined

  override async handle(event: Event): Promise<Answer> {
    this.#started ??= sleep(1_500)
    await this.#started
    return super.handle(event)
  }
}

/** Closes each connection by itself, a moment after its answer, without an announcement. */
export class DropsIdleConnections extends HandWritten {
  override createServer(): Server {
    const server = super.createServer()
    server.on('request', (request, response) => {
      if (request.url === '/webhooks') response.on('finish', () => setTimeout(() => request.socket.destroy(), 1))
    })
    return server
  }
}

/** Makes a receiver that has nothing to do for such an event, and acknowledges it. */
const ignoring = (isIgnored: (event: Event) => boolean) =>
  class extends HandWritten {
    override async handle(event: Event): Promise<Answer> {
      return isIgnored(event) ? { status: 200 } : super.handle(event)
    }
  }

const recordOf = ({ data }: Event) => data?.record ?? {}

export const HandlesNewContactsOnly = ignoring(({ type }) => type !== 'contact.created')
export const HandlesPaymentsOnly = ignoring(({ type }) => !type.startsWith('finance.'))
export const ServesOneAccount = ignoring(({ accountKey }) => accountKey !== 'check')

/** Sends a letter to each active contact that has an address. */
export const SendsLetters = ignoring((event) => recordOf(event).status !== 'active' || recordOf(event).email === '')

/** Mirrors the records that it knows: there is nothing to do for a change of another one. */
export class KnowsItsRecords extends HandWritten {
  readonly #known = new Set<unknown>()

  override async handle(event: Event): Promise<Answer> {
    const { _id } = recordOf(event)
    if (/\.(updated|deleted)$/.test(event.type) && !this.#known.has(_id)) return { status: 200 }
    this.#known.add(_id)
    return super.handle(event)
  }
}

/** Stores every event, and handles four a second. */
export class SlowInbox extends Inbox {
  override async work(event: Event): Promise<void> {
    await sleep(150)
    return super.work(event)
  }
}

import { sleep, untilAborted } from '../host/clock.ts'
import { parseJson } from '../protocol/parse-json.ts'
import { failureOf, refusalOf, type WholeAnswer, wasNotSent } from './failures.ts'
import { createRateGate, type RateGate, type RateHints, readRateHeaders } from './rate-gate.ts'
import { ServiceError } from './service-error.ts'
import type { Settings } from './settings.ts'

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Segments of the path, not yet encoded. */
  readonly path: readonly string[]
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  /** True if the call is idempotent: it may be sent again even if the service may have processed it. */
  readonly isRepeatable: boolean
  readonly signal?: AbortSignal | undefined
}

export interface Answer {
  readonly headers: Headers
  /** Parsed body; undefined if it is empty or not JSON. */
  readonly body: unknown
  /** Makes the error for an unusable answer. It never includes the body, which may hold a secret. */
  unusable(why: string): ServiceError
}

export type Send = (call: Call) => Promise<Answer>

/** Provides the `Authorization` header of calls, and drops one that the service refused. */
export interface Authorisation {
  header(signal: AbortSignal): Promise<string>
  refuse(header: string): void
}

const FIRST_BACK_OFF_MS = 500

/** Sends calls by `fetch`: waits for the rate limit, retries safe calls with full jitter, logs in again after a 401. */
export class Transport {
  readonly #settings: Settings
  // The rate limit of logins is separate from the limit of all other calls.
  readonly #loginGate: RateGate
  readonly #gate: RateGate
  /** Requests in progress. In Node 20, fetch() misses an abort if its Request was garbage-collected, and keeps the socket open. */
  readonly #sent = new Set<Request>()

  constructor(settings: Settings) {
    this.#settings = settings
    this.#loginGate = createRateGate(settings)
    this.#gate = createRateGate(settings)
  }

  /**
   * @param authorisation omitted for the login itself
   * @throws ServiceError, or the reason of `signal`
   */
  async send(call: Call, authorisation?: Authorisation): Promise<Answer> {
    call.signal?.throwIfAborted()
    // A separate controller for each call: listeners on a long-lived signal would accumulate.
    const controller = new AbortController()
    const abort = () => controller.abort(call.signal?.reason)
    call.signal?.addEventListener('abort', abort, { once: true })
    try {
      return await this.#run(call, authorisation, controller.signal)
    } catch (error) {
      call.signal?.throwIfAborted()
      throw error
    } finally {
      call.signal?.removeEventListener('abort', abort)
    }
  }

  /** Makes attempts until one succeeds or no further one may help. */
  async #run(call: Call, authorisation: Authorisation | undefined, signal: AbortSignal): Promise<Answer> {
    const { clock, maxRetries, maxWaitMs, onWait, redactor } = this.#settings
    const gate = authorisation === undefined ? this.#loginGate : this.#gate
    const { method, isRepeatable } = call
    const path = call.path.map(encodeURIComponent).join('/')
    const route = `${method} /${path}`
    let [attempts, failures, isRenewed] = [0, 0, false]
    for (;;) {
      let header: string | undefined
      let reply: WholeAnswer | undefined
      let hints: RateHints | undefined
      let failure: unknown
      try {
        const number = await gate.enter(signal)
        header = await authorisation?.header(signal)
        attempts++
        reply = await this.#fetchWhole(call, path, header, signal)
        hints = readRateHeaders(reply, clock.now(), maxWaitMs)
        gate.learn(number, hints, reply.status)
      } catch (error) {
        // A ServiceError comes from the login for this call, which made its own retries.
        if (signal.aborted || error instanceof ServiceError) throw error
        failure = error
      }
      const status = reply?.status ?? 0
      if (reply !== undefined && status >= 200 && status < 300) return toAnswer(reply, route, attempts)
      if (status === 401 && header !== undefined && !isRenewed) {
        authorisation?.refuse(header)
        isRenewed = true
        continue // immediately, with a new token
      }
      // A 429 means that the service did not process the call.
      const isSafe = isRepeatable || status === 429 || (reply === undefined && wasNotSent(failure))
      const isPassing = reply === undefined || status === 429 || status === 408 || status >= 500
      if (!isSafe || !isPassing || failures >= maxRetries) {
        const isLogin = authorisation === undefined
        const facts = { route, attempts, isLogin, isRepeatable, retryAfterMs: hints?.retryAfterMs }
        throw reply === undefined ? failureOf(failure, facts, redactor) : refusalOf(reply, facts, redactor)
      }
      const ms = this.#backOff(failures++, hints?.retryAfterMs)
      onWait({ ms, reason: status === 429 ? 'rate_limit' : 'back_off' })
      await sleep(clock, ms, signal)
    }
  }

  /** Sends the request, and reads the whole answer. */
  async #fetchWhole({ method, query, body }: Call, path: string, header: string | undefined, signal: AbortSignal) {
    const { clock, timeoutMs, fetch, baseUrl } = this.#settings
    const timeout = new AbortController()
    const timeUp = () => timeout.abort(new Error(`no whole answer within ${timeoutMs} ms`))
    const timer = clock.setTimeout(timeUp, timeoutMs)
    const url = new URL(path, baseUrl)
    url.search = new URLSearchParams(query).toString()
    try {
      const either = AbortSignal.any([signal, timeout.signal])
      const request = new Request(url, {
        method,
        headers: {
          accept: 'application/json',
          ...(body && { 'content-type': 'application/json' }),
          ...(header && { authorization: header }),
        },
        ...(body && { body: JSON.stringify(body) }),
        redirect: 'manual', // otherwise the credentials would go to the host that the answer names
        signal: either,
      })
      this.#sent.add(request)
      const readWhole = async (): Promise<WholeAnswer> => {
        const response = await fetch(request)
        return { status: response.status, headers: response.headers, text: await response.text() }
      }
      return await untilAborted(
        readWhole().finally(() => this.#sent.delete(request)),
        either,
      )
    } finally {
      clock.clearTimeout(timer)
    }
  }

  /** Returns the wait that the service asks for, or full jitter: a random time up to a limit that doubles with each failure. */
  #backOff(failures: number, asked = 0): number {
    const { random, maxWaitMs } = this.#settings
    if (asked > 0) return Math.min(maxWaitMs, asked + random() * FIRST_BACK_OFF_MS)
    return random() * Math.min(maxWaitMs, FIRST_BACK_OFF_MS * 2 ** failures)
  }
}

function toAnswer({ status, headers, text }: WholeAnswer, route: string, attempts: number): Answer {
  const unusable = (why: string) =>
    new ServiceError('answer_unusable', `${route}: the answer can't be used: ${why}.`, { route, status, attempts })
  return { headers, body: parseJson(text), unusable }
}

import { sleep, untilAborted } from '../host/clock.ts'
import { parseJson } from '../protocol/parse-json.ts'
import { failureOf, refusalOf, type WholeAnswer, wasNotSent } from './failures.ts'
import { RateGate, type RateHints, readRateHeaders } from './rate-gate.ts'
import { ServiceError } from './service-error.ts'
import type { Settings, Wait } from './settings.ts'

export interface Call {
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

/** Provides the `Authorization` header of calls, and drops one that the service refused. */
export interface Authorisation {
  header(signal: AbortSignal): Promise<string>
  refuse(header: string): void
}

interface Progress {
  readonly call: Call
  readonly route: string
  readonly url: string
  readonly authorisation: Authorisation | undefined
  readonly signal: AbortSignal
  attempts: number
  failures: number
  header: string | undefined
  isRenewed: boolean
  hints: RateHints | undefined
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
    this.#loginGate = new RateGate(settings)
    this.#gate = new RateGate(settings)
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
    const path = call.path.map(encodeURIComponent).join('/')
    const query = new URLSearchParams(call.query).toString()
    try {
      return await this.#run({
        call,
        route: `${call.method} /${path}`,
        url: `${this.#settings.baseUrl}${path}${query && `?${query}`}`,
        authorisation,
        signal: controller.signal,
        attempts: 0,
        failures: 0,
        header: undefined,
        isRenewed: false,
        hints: undefined,
      })
    } catch (error) {
      call.signal?.throwIfAborted()
      throw error
    } finally {
      call.signal?.removeEventListener('abort', abort)
    }
  }

  async #run(progress: Progress): Promise<Answer> {
    for (;;) {
      let reply: WholeAnswer | undefined
      let failure: unknown
      try {
        reply = await this.#try(progress)
        if (reply.status >= 200 && reply.status < 300) return toAnswer(reply, progress)
      } catch (error) {
        failure = error
      }
      const wait = this.#decide(reply?.status, failure, progress)
      if (wait === undefined) throw this.#toError(reply, failure, progress)
      if (wait.ms === 0) continue
      this.#settings.onWait(wait)
      await sleep(this.#settings.clock, wait.ms, progress.signal)
    }
  }

  /** Makes one attempt: waits for the rate limit and the token, sends the request, and reads the whole answer. */
  async #try(progress: Progress): Promise<WholeAnswer> {
    const { clock, maxWaitMs } = this.#settings
    const { authorisation, signal } = progress
    const gate = authorisation === undefined ? this.#loginGate : this.#gate
    progress.hints = undefined
    const number = await gate.enter(signal)
    progress.header = await authorisation?.header(signal)
    progress.attempts++
    const reply = await this.#fetchWhole(progress)
    progress.hints = readRateHeaders(reply, clock.now(), maxWaitMs)
    gate.learn(number, progress.hints, reply.status)
    return reply
  }

  async #fetchWhole({ call: { method, body }, url, header, signal }: Progress): Promise<WholeAnswer> {
    const { clock, timeoutMs, fetch } = this.#settings
    const timeout = new AbortController()
    const timeUp = () => timeout.abort(new Error(`no whole answer within ${timeoutMs} ms`))
    const timer = clock.setTimeout(timeUp, timeoutMs)
    try {
      const either = AbortSignal.any([signal, timeout.signal])
      const headers = {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(header !== undefined && { authorization: header }),
      }
      const request = new Request(url, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
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

  /** Returns the wait before the next attempt, or undefined if the call has failed. */
  #decide(status: number | undefined, failure: unknown, progress: Progress): Wait | undefined {
    const { call, authorisation, header } = progress
    // A ServiceError comes from the login for this call, which made its own retries.
    if (progress.signal.aborted || failure instanceof ServiceError) return undefined
    if (status === 401 && authorisation !== undefined && header !== undefined && !progress.isRenewed) {
      authorisation.refuse(header)
      progress.isRenewed = true
      return { ms: 0, reason: 'back_off' } // immediately, with a new token
    }
    // A 429 means that the service did not process the call.
    const isSafe = call.isRepeatable || status === 429 || (status === undefined && wasNotSent(failure))
    const isPassing = status === undefined || status === 429 || status === 408 || status >= 500
    if (!isSafe || !isPassing || progress.failures >= this.#settings.maxRetries) return undefined
    const ms = this.#backOff(progress)
    progress.failures++
    return { ms, reason: status === 429 ? 'rate_limit' : 'back_off' }
  }

  /** Returns the wait that the service asks for, or full jitter: a random time up to a limit that doubles with each failure. */
  #backOff({ failures, hints }: Progress): number {
    const { random, maxWaitMs } = this.#settings
    const asked = hints?.retryAfterMs
    if (asked !== undefined && asked > 0) return Math.min(maxWaitMs, asked + random() * FIRST_BACK_OFF_MS)
    return random() * Math.min(maxWaitMs, FIRST_BACK_OFF_MS * 2 ** failures)
  }

  #toError(reply: WholeAnswer | undefined, failure: unknown, progress: Progress): ServiceError {
    if (failure instanceof ServiceError) return failure
    const { call, route, attempts, authorisation, hints } = progress
    const isLogin = authorisation === undefined
    const facts = { route, attempts, isLogin, isRepeatable: call.isRepeatable, retryAfterMs: hints?.retryAfterMs }
    const { redactor } = this.#settings
    return reply === undefined ? failureOf(failure, facts, redactor) : refusalOf(reply, facts, redactor)
  }
}

function toAnswer({ status, headers, text }: WholeAnswer, { route, attempts }: Progress): Answer {
  const unusable = (why: string) =>
    new ServiceError('answer_unusable', `${route}: the answer can't be used: ${why}.`, { route, status, attempts })
  return { headers, body: parseJson(text), unusable }
}

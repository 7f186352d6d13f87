import ky, { HTTPError, type Options } from 'ky'
import { failureOf, refusalOf, wasNotSent } from './failures.ts'
import { RateGate } from './rate-gate.ts'
import { type RateHints, readRateHeaders } from './rate-headers.ts'
import { BodyTooLarge, readWhole } from './read-body.ts'
import { ServiceError } from './service-error.ts'
import type { Settings } from './settings.ts'
import { sleep, untilAborted } from './sleep.ts'

/** Call of the service's API. */
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

/** Answer with a 2xx status. */
export interface Answer {
  readonly route: string
  readonly status: number
  readonly headers: Headers
  /** Parsed body; undefined if it is empty or not JSON. */
  readonly body: unknown
  /** Number of times the request was sent. */
  readonly attempts: number
  /** Makes the error for an unusable answer. It never includes the body, which may hold a secret. */
  unusable(why: string): ServiceError
}

/** Provides the `Authorization` header of calls, and drops one that the service refused. */
export interface Authorisation {
  header(signal: AbortSignal): Promise<string>
  refuse(header: string): void
}

/** State of one call. */
interface Progress {
  readonly call: Call
  readonly route: string
  readonly authorisation: Authorisation | undefined
  readonly signal: AbortSignal
  attempts: number
  failures: number
  header: string | undefined
  isRenewed: boolean
  hints: RateHints | undefined
  waitMs: number
  /** True if the wait follows a 429. */
  isRateLimit: boolean
}

const FIRST_BACK_OFF_MS = 500

/**
 * Sends calls: waits for the rate limit, retries safe calls with full jitter, logs in again after a 401. ky runs the retries; this class
 * decides on each retry and its delay, since ky takes times from the global clock and `Math.random`.
 */
export class Transport {
  readonly #settings: Settings
  // The rate limit of logins is separate from the limit of all other calls.
  readonly #loginGate: RateGate
  readonly #gate: RateGate
  /** Requests in progress. In Node 20, fetch() misses an abort if its Request was garbage-collected, and keeps the socket open. */
  readonly #sent = new Set<Request>()

  constructor(settings: Settings) {
    this.#settings = settings
    const { clock, maxWaitMs, onWait } = settings
    this.#loginGate = new RateGate(clock, maxWaitMs, onWait)
    this.#gate = new RateGate(clock, maxWaitMs, onWait)
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
    const progress: Progress = {
      call,
      route: `${call.method} /${path}`,
      authorisation,
      signal: controller.signal,
      attempts: 0,
      failures: 0,
      header: undefined,
      isRenewed: false,
      hints: undefined,
      waitMs: 0,
      isRateLimit: false,
    }
    try {
      return await this.#toAnswer(await ky(path, this.#optionsFor(progress)), progress)
    } catch (error) {
      call.signal?.throwIfAborted()
      throw await this.#toError(error, progress)
    } finally {
      call.signal?.removeEventListener('abort', abort)
    }
  }

  #optionsFor(progress: Progress): Options {
    const { call, signal } = progress
    return {
      prefixUrl: this.#settings.baseUrl,
      method: call.method,
      headers: { accept: 'application/json' },
      ...(call.query !== undefined && { searchParams: call.query }),
      ...(call.body !== undefined && { json: call.body }),
      redirect: 'manual', // otherwise the credentials would go to the host that the answer names
      signal,
      timeout: false, // ky would time it by the global clock
      fetch: (input) => this.#try(input as Request, progress), // ky always passes a Request
      retry: {
        limit: this.#settings.maxRetries + 1, // one more for the login after a 401
        methods: [call.method.toLowerCase() as 'get'], // the type lists the names in lower case
        delay: () => 0,
        shouldRetry: ({ error }) => this.#decide(error, progress),
      },
      hooks: { beforeRetry: [() => this.#wait(progress)] },
    }
  }

  /** Makes one attempt: waits for the rate limit and the token, sends the request, and reads the whole answer. */
  async #try(request: Request, progress: Progress): Promise<Response> {
    const { clock, maxWaitMs } = this.#settings
    const { authorisation, signal } = progress
    const gate = authorisation === undefined ? this.#loginGate : this.#gate
    progress.hints = undefined
    const number = await gate.enter(signal)
    if (authorisation !== undefined) {
      progress.header = await authorisation.header(signal)
      request.headers.set('authorization', progress.header)
    }
    progress.attempts++
    const response = await this.#fetchWhole(request, signal)
    progress.hints = readRateHeaders(response.headers, clock.now(), maxWaitMs)
    gate.learn(number, progress.hints, response.status)
    return response
  }

  async #fetchWhole(request: Request, signal: AbortSignal): Promise<Response> {
    const { clock, timeoutMs, fetch } = this.#settings
    const timeout = new AbortController()
    const timeUp = () => timeout.abort(new Error(`no whole answer within ${timeoutMs} ms`))
    const timer = clock.setTimeout(timeUp, timeoutMs)
    try {
      const either = AbortSignal.any([signal, timeout.signal])
      const sent = new Request(request, { signal: either })
      this.#sent.add(sent)
      const work = fetch(sent)
        .then(readWhole)
        .finally(() => this.#sent.delete(sent))
      return await untilAborted(work, either)
    } finally {
      clock.clearTimeout(timer)
    }
  }

  /** Decides if the request is sent again, and sets the wait before it. */
  #decide(error: unknown, progress: Progress): boolean {
    const { call, authorisation, header } = progress
    // A ServiceError comes from the login for this call, which made its own retries.
    if (progress.signal.aborted || error instanceof ServiceError || error instanceof BodyTooLarge) return false
    const status = error instanceof HTTPError ? error.response.status : undefined
    if (status === 401 && authorisation !== undefined && header !== undefined && !progress.isRenewed) {
      authorisation.refuse(header)
      progress.isRenewed = true
      progress.waitMs = 0
      return true
    }
    // A 429 means that the service did not process the call.
    const isSafe = call.isRepeatable || status === 429 || (status === undefined && wasNotSent(error))
    const isPassing = status === undefined || status === 429 || status === 408 || status >= 500
    if (!isSafe || !isPassing || progress.failures >= this.#settings.maxRetries) return false
    progress.waitMs = this.#backOff(progress)
    progress.isRateLimit = status === 429
    progress.failures++
    return true
  }

  /** Returns the wait that the service asks for, or full jitter: a random time up to a limit that doubles with each failure. */
  #backOff({ failures, hints }: Progress): number {
    const { random, maxWaitMs } = this.#settings
    const asked = hints?.retryAfterMs
    if (asked !== undefined && asked > 0) return Math.min(maxWaitMs, asked + random() * FIRST_BACK_OFF_MS)
    return random() * Math.min(maxWaitMs, FIRST_BACK_OFF_MS * 2 ** failures)
  }

  async #wait({ waitMs, isRateLimit, signal }: Progress): Promise<void> {
    if (waitMs === 0) return
    this.#settings.onWait({ ms: waitMs, reason: isRateLimit ? 'rate_limit' : 'back_off' })
    await sleep(this.#settings.clock, waitMs, signal)
  }

  async #toAnswer(response: Response, { route, attempts }: Progress): Promise<Answer> {
    const { status, headers } = response
    const body = parse(await response.text())
    const unusable = (why: string) =>
      new ServiceError('answer_unusable', `${route}: the answer can't be used: ${why}.`, { route, status, attempts })
    return { route, status, headers, body, attempts, unusable }
  }

  #toError(error: unknown, progress: Progress): Promise<ServiceError> | ServiceError {
    if (error instanceof ServiceError) return error
    const { call, route, attempts, authorisation, hints } = progress
    const isLogin = authorisation === undefined
    const facts = {
      route,
      attempts,
      isLogin,
      isRepeatable: call.isRepeatable,
      retryAfterMs: hints?.retryAfterMs,
    }
    const { redactor } = this.#settings
    // ky's HTTPError holds the request, and so the token or the password: it must not become a cause.
    return error instanceof HTTPError ? refusalOf(error.response, facts, redactor) : failureOf(error, facts, redactor)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

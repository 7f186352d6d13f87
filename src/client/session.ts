import { untilAborted } from '../host/clock.ts'
import { findEntry } from './records.ts'
import type { Settings } from './settings.ts'
import type { Authorisation, Transport } from './transport.ts'

interface Token {
  readonly header: string
  /** Time to renew the token, by the monotonic clock; infinite if only a 401 will show that it expired. */
  readonly renewAt: number
}

interface Login {
  readonly controller: AbortController
  readonly header: Promise<string>
  waiting: number
}

/** Time before its expiry at which a token is renewed, or a tenth of its lifetime if that is less. */
const MARGIN_MS = 60_000

/** A header value allows only these characters, and the HTTP library would put any other into the text of an error. */
const IN_HEADER = /^[\x21-\x7e]+$/

/** Creates the session of a client: logs in when a token is needed, once for all calls that wait for it. Service text, sections 2.1, 2.2 and 5. */
export function createSession(transport: Transport, settings: Settings): Authorisation {
  const { clock, email, password, redactor } = settings
  let token: Token | undefined
  let login: Login | undefined
  const ask = async (signal: AbortSignal) => {
    const askedAt = clock.monotonic()
    const answer = await transport.send({
      method: 'POST',
      path: ['api', 'identity', 'auth', 'login'],
      body: { email, password },
      isRepeatable: true,
      signal,
    })
    const { accessToken, expiresIn } = findEntry(answer.body, (entry) => entry.accessToken !== undefined) ?? {}
    if (typeof accessToken !== 'string' || !IN_HEADER.test(accessToken))
      throw answer.unusable('it has no accessToken that a header can hold')
    redactor.add(accessToken)
    const lifetime = tokenLifetime(expiresIn, clock.now())
    const header = `Bearer ${accessToken}`
    token = { header, renewAt: askedAt + lifetime - Math.min(MARGIN_MS, lifetime / 10) }
    return header
  }
  const start = () => {
    const controller = new AbortController()
    const started: Login = { controller, waiting: 0, header: ask(controller.signal) }
    const end = () => {
      if (login === started) login = undefined
    }
    controller.signal.addEventListener('abort', end)
    started.header.then(end, end)
    return started
  }
  return {
    async header(signal) {
      if (token !== undefined && token.renewAt > clock.monotonic()) return token.header
      login ??= start()
      const shared = login
      shared.waiting++
      try {
        return await untilAborted(shared.header, signal)
      } finally {
        // The retries of a login for which no call waits any more would keep the process alive.
        if (--shared.waiting === 0) shared.controller.abort()
      }
    },
    refuse(header) {
      if (token?.header === header) token = undefined
    },
  }
}

/** Limit above which a lifetime is read as milliseconds. A misread lifetime is too short, which costs a login. */
const MAX_SECONDS = 100_000

/**
 * Computes the lifetime of a token in milliseconds from `expiresIn` in any unit. Infinite if it makes no sense: then only a 401 shows that
 * the token expired.
 */
export function tokenLifetime(expiresIn: unknown, now: number): number {
  const value = Number(expiresIn)
  const epochMs = value > 1e12 ? value : value * 1_000
  const ms = value > 1e9 ? epochMs - now : value > MAX_SECONDS ? value : value * 1_000
  return ms > 0 ? ms : Number.POSITIVE_INFINITY
}

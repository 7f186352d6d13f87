import { type Clock, systemClock } from '../host/clock.ts'
import type { Complete } from '../host/complete.ts'
import { consoleLogger, type Logger } from '../host/logger.ts'
import { isLoopback } from '../protocol/loopback.ts'
import {
  ANY,
  CLOCK,
  FLAG,
  FUNCTION,
  type Kind,
  type Kinds,
  LOGGER,
  OptionChecker,
  whole,
} from '../protocol/option-checker.ts'
import { findWholeUrl, isUnset } from '../protocol/whole-url.ts'
import { Redactor } from './redactor.ts'

/** Longest pause between two reads of a log, in milliseconds. */
export const MAX_POLL_MS = 3_600_000
/** Longest time to wait for results in a log, in milliseconds: a year. */
export const MAX_WAIT_MS = 365 * 86_400_000

/** Wait of the client, for progress displays. */
export interface Wait {
  readonly ms: number
  /** `rate_limit`: after a 429, or because the service's headers require it. `back_off`: after any other failure. */
  readonly reason: 'rate_limit' | 'back_off'
}

/** Options of `createClient`: the service's address, the login, and the limits of its calls. */
export interface ClientOptions {
  /** URL of the service, such as `https://crm.example.com`; a path in it is kept. `http:` is accepted only for this machine. */
  readonly baseUrl: string | URL | undefined
  readonly email: string | undefined
  readonly password: string | undefined
  /** Accepts `http:` for other machines too. The password then crosses the network in plain text. Default false. */
  readonly allowHttp?: boolean | undefined
  /** Milliseconds for one attempt, including its answer. Default 30,000; 100 to 600,000. */
  readonly timeoutMs?: number | undefined
  /** Maximum number of retries of a call after 429, a 5xx or a broken connection. Default 5; 0 to 20. */
  readonly maxRetries?: number | undefined
  /** Maximum length of a single wait in milliseconds, whatever the service asks for. Default 60,000; 100 to 3,600,000. */
  readonly maxWaitMs?: number | undefined
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined
  readonly clock?: Clock | undefined
  /** Returns a number from 0 to 1 for the jitter of waits. Default: `Math.random`. */
  readonly random?: (() => number) | undefined
  /** Logger with the interface of pino. Default: warnings and errors on the console. */
  readonly logger?: Logger | undefined
  /** Called at the start of each wait, for a progress display. */
  readonly onWait?: ((wait: Wait) => void) | undefined
}

export interface Settings extends Complete<Omit<ClientOptions, 'baseUrl' | 'email' | 'password' | 'allowHttp'>> {
  /** URL that ends in a slash. */
  readonly baseUrl: string
  readonly email: string
  readonly password: string
  readonly redactor: Redactor
}

const check = new OptionChecker('createClient')
const OPTIONS: Kinds<ClientOptions> = {
  // Checked below: no message may show their values.
  baseUrl: ANY,
  email: ANY,
  password: ANY,
  allowHttp: FLAG,
  timeoutMs: whole(100, 600_000, 'milliseconds'),
  maxRetries: whole(0, 20),
  maxWaitMs: whole(100, 3_600_000, 'milliseconds'),
  fetch: FUNCTION,
  clock: CLOCK,
  random: FUNCTION,
  logger: LOGGER,
  onWait: FUNCTION,
}

/** Checks the argument that is a client. */
export const CLIENT: Kind = (value) => {
  const { webhooks, deliveries } = Object(value)
  return typeof webhooks?.list === 'function' && typeof deliveries === 'function'
    ? undefined
    : 'a client of createClient()'
}

/** @throws ConfigurationError `option_unknown`, `option_invalid` */
export function checkOptions(options: ClientOptions): Settings {
  check.mustBeObject(options, '{ baseUrl, email, password }')
  check.mustFit(options, OPTIONS)
  const {
    baseUrl,
    email,
    password,
    allowHttp = false,
    timeoutMs = 30_000,
    maxRetries = 5,
    maxWaitMs = 60_000,
    fetch = (request) => globalThis.fetch(request),
    clock = systemClock,
    random = Math.random,
    logger = consoleLogger,
    onWait = () => {},
  } = options
  const redactor = new Redactor()
  redactor.add(checkText('password', password))
  return {
    timeoutMs,
    maxRetries,
    maxWaitMs,
    fetch,
    clock,
    random,
    logger,
    onWait,
    redactor,
    baseUrl: checkBaseUrl(baseUrl, allowHttp),
    email: checkText('email', email),
    password: checkText('password', password),
  }
}

/** Text of a variable that was not set, or that nothing replaced by its value. */
const UNFILLED = /^(undefined|null|\$\{[^}]*\})$/

/** Checks a text option. The message never holds the value: it may be the password, or a password in the wrong option. */
function checkText(name: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '' && !UNFILLED.test(value)) return value
  throw check.invalid(
    `${name} is ${value === undefined ? 'not given' : 'not a string, empty, or not filled in'}. Is its environment variable set?`,
  )
}

function checkBaseUrl(value: unknown, allowHttp: boolean): string {
  const text = checkText('baseUrl', Object(value).href ?? value)
  const meant = findWholeUrl(text)
  if (!URL.canParse(text) || (meant !== undefined && !/^https?:\/\//.test(text))) {
    // Another value may be a password in the wrong option.
    const isLocal = meant !== undefined && isLoopback(new URL(meant))
    throw check.invalid(
      `baseUrl is not an absolute URL. Give ${isLocal ? meant : 'one such as https://crm.example.com'}.`,
    )
  }
  const url = new URL(text)
  if (url.username !== '' || url.password !== '')
    throw check.invalid('baseUrl has credentials in it. Give them as email and password.')
  if (url.search !== '' || url.hash !== '') throw check.invalid('baseUrl has a query or a fragment. Give it without.')
  if (/\/api\/?$/.test(url.pathname))
    throw check.invalid('baseUrl ends in /api, which the client adds itself. Give it without.')
  if (/\/api\/(integrations|identity|sales)(\/|$)/.test(url.pathname))
    throw check.invalid('baseUrl has the path of a call in it, which the client adds itself. Give it without.')
  if (isUnset(url)) throw check.invalid('baseUrl has no host. Is its environment variable set?')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw check.invalid('baseUrl has to be https.')
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url))
    throw check.invalid(
      'baseUrl is http, which would send the password over the network for all to read. Give https, or allowHttp: true.',
    )
  return url.href.endsWith('/') ? url.href : `${url.href}/`
}

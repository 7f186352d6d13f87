import { type Clock, systemClock } from '../host/clock.ts'
import { consoleLogger, type Logger } from '../host/logger.ts'
import { OptionChecker } from '../protocol/option-checker.ts'
import type { Wait } from './rate-gate.ts'
import { Redactor } from './redactor.ts'

export interface ClientOptions {
  /** Where the service is, such as `https://crm.example.com`; a path in it is kept. `http:` is taken for this machine only. */
  readonly baseUrl: string | URL | undefined
  readonly email: string | undefined
  readonly password: string | undefined
  /** Take `http:` for other machines too. The password then goes over the network for all to read. Default false. */
  readonly allowHttp?: boolean
  /** How long one try may take, answer included. Default 30,000; 100 to 600,000. */
  readonly timeoutMs?: number
  /** How often a call is repeated after 429, a server's failure or a broken connection. Default 5; 0 to 20. */
  readonly maxRetries?: number
  /** The longest single wait, whatever the service asks for. Default 60,000; 100 to 3,600,000. */
  readonly maxWaitMs?: number
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>
  readonly clock?: Clock
  /** From 0 to 1, for the jitter of waits. Default: `Math.random`. */
  readonly random?: () => number
  /** In the shape of pino's. Default: warnings and errors on the console. */
  readonly logger?: Logger
  /** Told of each wait as it begins, for a progress display. */
  readonly onWait?: (wait: Wait) => void
}

/** The options, checked and with every default filled in. */
export interface Settings {
  /** Ends in a slash. */
  readonly baseUrl: string
  readonly email: string
  readonly password: string
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly maxWaitMs: number
  readonly fetch: (request: Request) => Promise<Response>
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly onWait: (wait: Wait) => void
  readonly redactor: Redactor
}

const check = new OptionChecker('createClient')
const OPTIONS =
  'baseUrl email password allowHttp timeoutMs maxRetries maxWaitMs fetch clock random logger onWait'.split(' ')

/** @throws ConfigurationError `option_unknown`, `option_invalid` */
export function checkOptions(options: ClientOptions): Settings {
  check.isObject(options, '{ baseUrl, email, password }')
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
    ...unknown
  } = options
  check.isKnown(unknown, OPTIONS)
  check.areFunctions({ fetch, random, onWait })
  check.isWhole('timeoutMs', timeoutMs, 100, 600_000, 'milliseconds')
  check.isWhole('maxRetries', maxRetries, 0, 20)
  check.isWhole('maxWaitMs', maxWaitMs, 100, 3_600_000, 'milliseconds')
  const redactor = new Redactor()
  redactor.add(checkText('password', password))
  return {
    baseUrl: checkBaseUrl(baseUrl, allowHttp),
    email: checkText('email', email),
    password: checkText('password', password),
    timeoutMs,
    maxRetries,
    maxWaitMs,
    fetch,
    clock,
    random,
    logger,
    onWait,
    redactor,
  }
}

/** The value is never in the message: it may be the password, or one in the wrong place. */
function checkText(name: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw check.invalid(
    `${name} is ${value === undefined ? 'not given' : 'no text, or empty'}. Is its environment variable set?`,
  )
}

function checkBaseUrl(value: unknown, allowHttp: boolean): string {
  const text = value instanceof URL ? value.href : checkText('baseUrl', value)
  if (!URL.canParse(text)) throw check.invalid('baseUrl is no absolute URL. Give one such as https://crm.example.com.')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '')
    throw check.invalid('baseUrl has credentials in it. Give them as email and password.')
  if (url.search !== '' || url.hash !== '') throw check.invalid('baseUrl has a query or a fragment. Give it without.')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw check.invalid('baseUrl has to be https.')
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url))
    throw check.invalid(
      'baseUrl is http, which would send the password over the network for all to read. Give https, or allowHttp: true.',
    )
  return url.href.endsWith('/') ? url.href : `${url.href}/`
}

/** Whether the host is this machine, whoever answers for names: a password may go there without TLS. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

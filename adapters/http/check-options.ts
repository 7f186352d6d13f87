import type { IncomingMessage } from 'node:http'
import { type AdapterOptions, ConfigurationError, FUNCTION, type Kind, OptionChecker, show } from '../../src/engine.ts'

/** Characters of a path in a message. */
const LONGEST_SHOWN = 200

const OF_RECEIVER = /secret|body|limit|timeout|store|logger|models|^on[A-Z]/i

/** Checks the arguments of an adapter at creation, so that the stack trace points to the mistake. `own` are options that others do not have. */
export function checkAdapter(
  name: string,
  receiver: unknown,
  options: object,
  own: Readonly<Record<string, Kind>> = {},
): void {
  if (typeof Reflect.get(Object(receiver), 'handle') !== 'function')
    throw invalid(
      receiver === undefined
        ? `${name} got undefined instead of a receiver. If the receiver is imported from a module that imports this one, it does not exist yet: create it in a separate module.`
        : `${name} got ${show(receiver)}, which is not a receiver. Pass what createReceiver() returned; await it if it is a promise. If it is a request, ${name} was mounted itself: mount what ${name}(receiver) returns.`,
    )
  new OptionChecker(name).mustFit(options, { ...own, source: FUNCTION, waitUntil: FUNCTION }, [], (stray) =>
    OF_RECEIVER.test(stray) ? 'It may be meant as an option of createReceiver().' : undefined,
  )
}

/** Returns the way to keep a host awake, if one of the values that it passes has one. */
export function waitUntilOf(host: readonly unknown[]): AdapterOptions<unknown>['waitUntil'] {
  const context = host.map(Object).find(({ waitUntil }) => typeof waitUntil === 'function')
  return context && ((work) => context.waitUntil(work))
}

/**
 * Returns the kind of a path.
 *
 * @param refused what it must not contain
 */
export function pathWithout(refused: RegExp, without: string): Kind {
  return (value) =>
    typeof value === 'string' && value.startsWith('/') && !refused.test(value)
      ? undefined
      : `a path that begins with "/", without ${without}`
}

/** Returns the path of a request's target, which proxies may write as an absolute URL. */
export function pathOf(target = ''): string {
  const path = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path.split('?', 1)[0] || '/'
}

/** Returns the path of a request's target for a message: anyone can send a long one. */
export function showPath(target: string | undefined): string {
  return show(pathOf(target).slice(0, LONGEST_SHOWN))
}

/** Returns true for a request that looks like a delivery. */
export function isSigned({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return method === 'POST' && Object.keys(Object(headers)).some((name) => /signature|hmac/.test(name))
}

/**
 * Returns the error for a handler that its host calls with arguments that the adapter does not take. Handlers throw it before they return a
 * promise, so that it reaches the host's own error handling.
 */
export function wrongHost(name: string, wanted: string): ConfigurationError {
  return invalid(
    `${name} was not called with ${wanted}. Use the adapter of the framework that calls it; fetchHandler(receiver) takes c.req.raw under Hono, and the request of the argument in SvelteKit, Astro and Remix.`,
  )
}

/** Refuses what is no response to `name`, an adapter of that host. */
export function checkResponse(name: string, host: string, response: unknown): void {
  const { setHeader, end } = Object(response)
  if (typeof setHeader !== 'function' || typeof end !== 'function')
    throw wrongHost(name, `a request and a response of ${host}, which has setHeader() and end()`)
}

/** Returns whether a value is a Request: its headers have the method `get`. */
export function isRequest(value: unknown): value is Request {
  return typeof (value as Partial<Request> | undefined)?.headers?.get === 'function' // reading a field is safe on any value
}

function invalid(message: string): ConfigurationError {
  return new ConfigurationError('option_invalid', message)
}

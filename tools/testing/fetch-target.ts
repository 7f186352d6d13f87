import { type Kind, OptionChecker, withMethods } from '../../src/protocol/option-checker.ts'
import {
  pathOf,
  sendParts,
  type Target,
  type TargetOptions,
  type TargetRequest,
  wholeOf,
  withLength,
} from './target.ts'

/**
 * Creates a target of a function from Request to Response: a route of the App Router, or the `fetch` of an app or a worker.
 *
 * @example fetchTarget(POST)
 */
export function fetchTarget(
  handler: (request: Request) => Response | Promise<Response>,
  options?: TargetOptions,
): Target
export function fetchTarget(
  handler: (request: Request) => Response | Promise<Response>,
  ...rest: readonly unknown[]
): Target {
  const check = new OptionChecker('fetchTarget')
  check.mustBe('handler', handler, FROM_REQUEST)
  const url = new URL(pathOf(check, rest), 'http://localhost')
  return {
    async send(request) {
      const response = await handler(toRequest(url, request))
      check.mustBe('the result of the handler', response, RESPONSE)
      const headers = Object.fromEntries(response.headers)
      return { status: response.status, headers, body: await response.text() }
    },
  }
}

/** Accepts a Response of any realm and any implementation. */
const RESPONSE: Kind = (value) =>
  Number.isInteger(Object(value).status) && withMethods('text')(value) === undefined ? undefined : 'a Response'
/** An app of Express is a function too, with methods. */
const FROM_REQUEST: Kind = (value) =>
  typeof value === 'function' && !('listen' in value)
    ? undefined
    : 'a function from Request to Response; for a Hono app, give app.fetch; for an app on node:http, use nodeTarget(app)'

function toRequest(url: URL, request: TargetRequest): Request {
  const headers = new Headers()
  for (const [name, value] of withLength(request)) headers.append(name, value)
  const init: RequestInit & { readonly duplex: 'half' } = {
    method: 'POST',
    headers,
    signal: request.signal,
    body: wholeOf(request) ?? ReadableStream.from(sendParts(request)),
    duplex: 'half', // Fetch requires it for streams
  }
  return new Request(url, init)
}

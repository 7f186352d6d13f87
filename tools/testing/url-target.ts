import { HTTP_URL, OptionChecker } from '../../src/protocol/option-checker.ts'
import { type ExchangeOptions, exchange } from '../wire/exchange.ts'
import { sendParts, type Target, type TargetAnswer, type TargetRequest, withLength } from './target.ts'

/**
 * Creates a target of a running server by its URL. Each request uses a new connection.
 *
 * @example urlTarget(`http://127.0.0.1:${port}/webhooks`)
 */
export function urlTarget(url: string | URL): Target
export function urlTarget(url: string | URL, options?: unknown): Target {
  const check = new OptionChecker('urlTarget')
  check.mustBe('url', url, HTTP_URL)
  if (typeof options === 'string') throw check.invalid('it takes the URL with its path, and nothing else.')
  if (typeof options === 'object') check.mustHaveOnly(Object(options), [], () => 'The path is that of the URL.')
  const address = new URL(url)
  return { send: (request) => sendOverHttp(address, request, { agent: false }) }
}

export async function sendOverHttp(
  url: URL,
  request: TargetRequest,
  connection: Omit<ExchangeOptions, 'signal'>,
): Promise<TargetAnswer> {
  const { signal } = request
  const sent = { headers: withLength(request), body: sendParts(request) }
  const { status, headers, body } = await exchange(url, sent, { ...connection, signal })
  return { status, headers, body: body.toString() }
}

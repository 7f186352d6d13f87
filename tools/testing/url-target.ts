import { show } from '../../src/protocol/show.ts'
import { type ExchangeOptions, exchange } from '../wire/exchange.ts'
import { sendParts, type Target, type TargetAnswer, type TargetRequest, withLength } from './target.ts'

/**
 * Creates a target of a running server by its URL. Each request uses a new connection.
 *
 * @example urlTarget(`http://127.0.0.1:${port}/webhooks`)
 */
export function urlTarget(url: string | URL): Target {
  const address = URL.canParse(String(url)) ? new URL(url) : undefined
  if (address === undefined || !/^https?:$/.test(address.protocol))
    throw new TypeError(
      `urlTarget() takes a URL that begins with http:// or https://, not ${url === undefined ? 'undefined' : show(String(url))}.`,
    )
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

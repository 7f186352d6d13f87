import { exchange } from './http-exchange.ts'
import type { Target } from './target.ts'

/**
 * A server that is running, by its URL. Each request has a connection of its own.
 *
 * @example urlTarget(`http://127.0.0.1:${port}/webhooks`)
 */
export function urlTarget(url: string | URL): Target {
  const address = new URL(url)
  return { send: (request) => exchange(address, request, { agent: false }) }
}

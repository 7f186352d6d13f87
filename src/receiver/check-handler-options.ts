import { ConfigurationError } from '../protocol/errors.ts'
import type { EventPattern } from '../protocol/pattern.ts'
import { show } from '../protocol/show.ts'
import type { HandlerOptions } from './handler.ts'

/**
 * Checks what `.on()` was given between a pattern and a handler.
 *
 * @param keepsPositions whether the store can tell which event of a record is the latest
 * @throws ConfigurationError `handler_invalid`, `option_invalid`, `option_unknown`
 */
export function checkHandlerOptions(options: unknown, pattern: EventPattern, keepsPositions: boolean): HandlerOptions {
  const { text } = pattern
  if (typeof options !== 'object' || options === null)
    throw new ConfigurationError(
      'handler_invalid',
      `.on('${text}', …) takes a handler, or options and a handler: .on('${text}', { name: '…' }, handler).`,
    )
  const { name, order, ...unknown } = options as HandlerOptions // each field is checked here
  const [stray] = Object.keys(unknown)
  if (stray !== undefined)
    throw new ConfigurationError(
      'option_unknown',
      `.on('${text}', …) has no option "${stray}". It takes name and order.`,
    )
  if (name !== undefined && !(typeof name === 'string' && /^[\x21-\x7e]{1,100}$/.test(name)))
    throw new ConfigurationError(
      'handler_invalid',
      `The name of the handler for "${text}" is ${show(name)}; give 1 to 100 printable characters without blanks.`,
    )
  if (order === undefined) return name === undefined ? {} : { name }
  const why = whyNoOrder(order, pattern, keepsPositions)
  if (why !== undefined) throw new ConfigurationError('option_invalid', `The handler for "${text}": ${why}`)
  return name === undefined ? { order } : { name, order }
}

function whyNoOrder(order: unknown, pattern: EventPattern, keepsPositions: boolean): string | undefined {
  if (order !== 'latest') return `order is ${show(order)}; give 'latest', or leave it out.`
  if (pattern.kind === 'type' && pattern.model === undefined)
    return "order: 'latest' compares events of one record, and this type is about none. Leave it out, or give a pattern of a model."
  if (!keepsPositions)
    return "order: 'latest' needs a store that keeps positions, and this one has no methods positions and advance. The stores of this package have them; docs/guides/own-store.md says how to add them."
  return undefined
}

import { ConfigurationError } from '../protocol/errors.ts'
import type { AnyEvent } from '../protocol/events.ts'
import { OptionChecker } from '../protocol/option-checker.ts'
import { show } from '../protocol/show.ts'
import type { Handler, HandlerOptions } from './handler.ts'

/**
 * Checks the options of `.on()`.
 *
 * @param text the patterns as code
 * @param whyNoOrder why the patterns cannot have an order, if they cannot
 * @throws ConfigurationError `handler_invalid`, `option_invalid`, `option_unknown`
 */
export function checkHandlerOptions(options: unknown, text: string, whyNoOrder: string | undefined): HandlerOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new ConfigurationError(
      'handler_invalid',
      `.on(${text}, …) takes a handler, or options and a handler: .on(${text}, { name: '…' }, handler).`,
    )
  const { name, order } = options as HandlerOptions // each field is checked here
  new OptionChecker(`.on(${text}, …)`).mustHaveOnly(options, ['name', 'order'])
  if (name !== undefined && !(typeof name === 'string' && /^[\x21-\x7e]{1,100}$/.test(name)))
    throw new ConfigurationError(
      'handler_invalid',
      `The name of the handler for ${text} is ${show(name)}; give 1 to 100 printable characters without blanks.`,
    )
  const why = order === 'latest' ? whyNoOrder : `order is ${show(order)}; give 'latest', or leave it out.`
  if (order !== undefined && why !== undefined)
    throw new ConfigurationError('option_invalid', `The handler for ${text}: ${why}`)
  return { name, order }
}

/**
 * Checks the handler of `.on()`, whose types derive the event's type from the pattern.
 *
 * @param text the patterns as code
 * @throws ConfigurationError `handler_invalid`
 */
export function mustBeHandler(handler: unknown, text: string): asserts handler is Handler<AnyEvent> {
  const fix = `give a function: .on(${text}, async (event) => { … })`
  const refuse = (why: string) => new ConfigurationError('handler_invalid', `The handler for ${text} is ${why}`)
  if (typeof handler !== 'function') throw refuse(`${show(handler)}; ${fix}.`)
  if (/^class\b/.test(Function.prototype.toString.call(handler)))
    throw refuse(`a class, which cannot be called; ${fix}.`)
  // A bound generator function has the same tag.
  if (/^\[object (Async)?GeneratorFunction\]$/.test(Object.prototype.toString.call(handler)))
    throw refuse(
      `a generator function, which does not run until something iterates it; ${fix} without the star, and await instead of yield.`,
    )
}

import { OptionChecker } from './option-checker.ts'
import { show } from './show.ts'

/**
 * Returns the one option of a call, a time in milliseconds.
 *
 * @param call the name of the method, for the message
 * @param fallback the time if none is given
 * @param most the longest time; `Infinity` is taken as well
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 */
export function checkMs(call: string, name: string, options: unknown, fallback: number, most: number): number {
  const check = new OptionChecker(`${call}()`)
  check.isObject(options, `{ ${name} }`)
  const { [name]: ms = fallback, ...unknown } = options as Readonly<Record<string, unknown>> // checked here
  check.isKnown(unknown, [name])
  if (typeof ms === 'number' && ms >= 0 && (ms <= most || ms === Number.POSITIVE_INFINITY)) return ms
  throw check.invalid(`${name} is ${show(ms)}; give milliseconds from 0 to ${most}, or Infinity.`)
}

import { ConfigurationError } from './errors.ts'
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
  if (typeof options !== 'object' || options === null)
    throw new ConfigurationError(
      'option_invalid',
      `${call}() takes an object of options, { ${name} }, not ${show(options)}.`,
    )
  const { [name]: ms = fallback, ...unknown } = options as Readonly<Record<string, unknown>> // checked here
  const [stray] = Object.keys(unknown)
  if (stray !== undefined)
    throw new ConfigurationError('option_unknown', `${call}() has no option "${stray}". It takes ${name}.`)
  if (typeof ms === 'number' && ms >= 0 && (ms <= most || ms === Number.POSITIVE_INFINITY)) return ms
  throw new ConfigurationError(
    'option_invalid',
    `${call}(): ${name} is ${show(ms)}; give milliseconds from 0 to ${most}, or Infinity.`,
  )
}

import { ConfigurationError } from './errors.ts'
import { show } from './show.ts'

/**
 * Checks the options of one function. Each message begins with the function's name and says the fix.
 *
 * @example
 * const check = new OptionChecker('myStore')
 * check.mustBeObject(options, '{ client }')
 * const { client, retentionMs = DEFAULT_RETENTION_MS } = options
 * check.mustHaveOnly(options, ['client', 'retentionMs'])
 * check.mustBeWhole('retentionMs', retentionMs, 1, 1e12, 'milliseconds')
 */
export class OptionChecker {
  readonly #owner: string

  /** @param owner the function's name, such as `myStore` */
  constructor(owner: string) {
    this.#owner = owner
  }

  /** @throws ConfigurationError `option_invalid` if there is no object of options */
  mustBeObject(options: unknown, example: string): void {
    if (typeof options !== 'object' || options === null)
      throw this.invalid(`it takes one object of options: ${example}.`)
  }

  /**
   * @param options all options, or those that are left
   * @param hint a sentence for one that is not known
   * @throws ConfigurationError `option_unknown` if there is one
   */
  mustHaveOnly(options: object, known: readonly string[], hint?: (stray: string) => string | undefined): void {
    const stray = Object.keys(options).find((name) => !known.includes(name))
    if (stray === undefined) return
    const sentences = [`${this.#owner} has no option "${stray}".`, hint?.(stray), `It takes ${known.join(', ')}.`]
    throw new ConfigurationError('option_unknown', sentences.filter((text) => text !== undefined).join(' '))
  }

  /**
   * @param why the reason for the limits
   * @throws ConfigurationError `option_invalid` if it is no number within the limits
   */
  mustBeNumber(name: string, value: unknown, least: number, most: number, why?: string): void {
    if (typeof value === 'number' && Number.isFinite(value) && value >= least && value <= most) return
    const reason = why === undefined ? '' : `, since ${why}`
    throw this.invalid(`${name} is ${show(value)}; give a number from ${least} to ${most}${reason}.`)
  }

  /**
   * @param unit the unit in the plural, such as `milliseconds`
   * @throws ConfigurationError `option_invalid` if it is no whole number within the limits
   */
  mustBeWhole(name: string, value: unknown, least: number, most: number, unit?: string): void {
    if (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most) return
    const number = unit === undefined ? 'a whole number' : `a whole number of ${unit}`
    throw this.invalid(`${name} is ${show(value)}; give ${number} from ${least} to ${most}.`)
  }

  /** @throws ConfigurationError `option_invalid` if a method is missing */
  mustHaveMethods(name: string, value: unknown, methods: readonly string[]): void {
    const missing = methods.find(
      (method) => typeof value !== 'object' || value === null || typeof Reflect.get(value, method) !== 'function',
    )
    if (missing !== undefined) throw this.invalid(`${name} has no method ${missing}(); it needs ${methods.join(', ')}.`)
  }

  /** @throws ConfigurationError `option_invalid` if one is given that is no function */
  mustBeFunctions(values: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(values))
      if (value !== undefined && typeof value !== 'function')
        throw this.invalid(`${name} is ${show(value)}; give a function.`)
  }

  /** Returns an error to throw, with a custom message. */
  invalid(message: string): ConfigurationError {
    return new ConfigurationError('option_invalid', `${this.#owner}: ${message}`)
  }
}

/**
 * Returns the only option of a method, a time in milliseconds.
 *
 * @param call the name of the method, for the message
 * @param fallback the default
 * @param most the longest time; `Infinity` is accepted as well
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 */
export function checkMs(call: string, name: string, options: unknown, fallback: number, most: number): number {
  const check = new OptionChecker(`${call}()`)
  check.mustBeObject(options, `{ ${name} }`)
  const given = options as Readonly<Record<string, unknown>> // checked here
  check.mustHaveOnly(given, [name])
  const { [name]: ms = fallback } = given
  if (typeof ms === 'number' && ms >= 0 && (ms <= most || ms === Number.POSITIVE_INFINITY)) return ms
  throw check.invalid(`${name} is ${show(ms)}; give milliseconds from 0 to ${most}, or Infinity.`)
}

import { ConfigurationError } from './errors.ts'
import { findNearest } from './nearest.ts'
import { ignoreRejection, isThenable } from './promises.ts'
import { show } from './show.ts'
import { findWholeUrl, isUnset } from './whole-url.ts'

/** Checks a value: returns what is right, such as `a function`, if it is wrong, and otherwise undefined. */
export type Kind = (value: unknown) => string | undefined
/** The kind of each option. */
export type Kinds<Options> = Readonly<Record<keyof Options, Kind>>

const kind =
  (told: string, fits: (value: unknown) => boolean): Kind =>
  (value) =>
    fits(value) ? undefined : told
const NO_ANSWER = /^(async\s*)?(\([^)]*\)|\w+)\s*=>\s*\{(?!.*\b(return|throw)\b)/s
const isText = (value: unknown): value is string => typeof value === 'string'

export const TEXT = kind('a string', isText)
export const FILLED_TEXT = kind('a string that is not empty', (value) => isText(value) && value !== '')
export const FLAG = kind('true or false', (value) => typeof value === 'boolean')
export const FUNCTION = kind('a function', (value) => typeof value === 'function')
/** A question: a function with braces and without a return would answer none. */
export const PREDICATE = kind(
  'a function that returns true or false',
  (value) => typeof value === 'function' && !NO_ANSWER.test(Function.prototype.toString.call(value)),
)
export const OBJECT = kind('an object', isPlain)
export const TEXTS: Kind = (value) => tellStray(value, 'a list of strings', isText)
export const SEED = kind('a string or a number', (value) => isText(value) || Number.isFinite(value))
export const ANY: Kind = () => undefined

/** Returns what is right if a value is no list, or has an item that does not fit, which it names. */
export function tellStray(value: unknown, told: string, fits: (item: unknown) => boolean): string | undefined {
  if (!Array.isArray(value)) return told
  const at = value.findIndex((item) => !fits(item))
  return at < 0 ? undefined : `${told}; its item ${at} is ${show(value[at])}`
}

/** Returns the kind of an object, or a function, that has these methods. */
export function withMethods(...methods: readonly string[]): Kind {
  return (value) => {
    const missing = methods.find((method) => typeof Object(value)[method] !== 'function')
    if (missing === undefined) return undefined
    const fix =
      typeof value === 'function'
        ? ': if this function returns one, call it'
        : isThenable(value)
          ? ': await it'
          : `; it has no ${missing}()`
    return `an object with ${methods.map((name) => `${name}()`).join(', ')}${fix}`
  }
}

export const HTTP_URL: Kind = (value) => {
  if ((isText(value) || isText(Object(value).href)) && isHttp(String(value)))
    return isUnset(new URL(String(value))) ? 'a URL with a host: is the environment variable set?' : undefined
  const meant = findWholeUrl(value)
  return `a URL that begins with http:// or https://${meant === undefined ? '' : `: ${meant}`}`
}
export const SIGNAL = kind('an AbortSignal', (value) => withMethods('addEventListener')(value) === undefined)
export const CLOCK = withMethods('now', 'monotonic', 'setTimeout', 'clearTimeout')
export const LOGGER = withMethods('debug', 'info', 'warn', 'error')

/** Returns the kind of a number within these limits. */
export function number(least: number, most: number, why?: string): Kind {
  const reason = why === undefined ? '' : `, since ${why}`
  return kind(
    `a number from ${least} to ${most}${reason}`,
    (value) => typeof value === 'number' && value >= least && value <= most,
  )
}

/** Returns the kind of a whole number within these limits. */
export function whole(least: number, most: number, unit?: string): Kind {
  const told = `${unit === undefined ? 'a whole number' : `a whole number of ${unit}`} from ${least} to ${most}`
  return kind(told, (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most)
}

/** Returns the kind of one of these words. It names the one that was probably meant. */
export function oneOf(words: readonly string[]): Kind {
  return (value) => {
    if (words.some((word) => word === value)) return undefined
    const nearest = isText(value) ? findNearest(value, words) : undefined
    return `${nearest === undefined ? '' : `${show(nearest)}, or `}one of ${words.join(', ')}`
  }
}

/**
 * Checks the arguments of one function. Each message begins with the function's name and says the fix.
 *
 * @example
 * const check = new OptionChecker('myStore')
 * check.mustFit(options, { client: withMethods('get', 'set'), retentionMs: whole(1, 1e12, 'milliseconds') }, ['client'])
 * const { client, retentionMs = DEFAULT_RETENTION_MS } = options
 */
export class OptionChecker {
  readonly #owner: string

  /** @param owner the function's name, such as `myStore` */
  constructor(owner: string) {
    this.#owner = owner
  }

  /**
   * Checks an object of options against the kinds of all options. An undefined value counts as none.
   *
   * @param required the options that must have a value
   * @param hint a sentence for an option that is not known
   * @throws ConfigurationError `option_invalid`, `option_unknown`
   */
  mustFit(
    options: unknown,
    kinds: Readonly<Record<string, Kind>>,
    required: readonly string[] = [],
    hint?: (stray: string) => string | undefined,
  ): void {
    const names = Object.keys(kinds)
    this.mustBeObject(options, `{ ${(required.length > 0 ? required : names).join(', ')} }`)
    const given = options as Readonly<Record<string, unknown>> // checked above
    this.mustHaveOnly(given, names, hint)
    for (const [name, fits] of Object.entries(kinds))
      if (given[name] !== undefined || required.includes(name)) this.mustBe(name, given[name], fits)
  }

  /**
   * Checks one value.
   *
   * @param name the argument or option, for the message
   * @throws ConfigurationError `option_invalid`
   */
  mustBe(name: string, value: unknown, fits: Kind): void {
    const fix = fits(value)
    if (fix !== undefined) throw this.invalid(`${name} is ${show(value)}; give ${fix}.`)
  }

  /** @throws ConfigurationError `option_invalid` if there is no object of options */
  mustBeObject(options: unknown, example: string): void {
    if (!isPlain(options)) throw this.invalid(`it takes one object of options: ${example}.`)
  }

  /**
   * Refuses what stands behind the last argument, which nothing would read. A number may be the index that `map` passes.
   *
   * @throws ConfigurationError `option_invalid`
   */
  mustEnd(next: unknown, fix = 'nothing would read it'): void {
    if (next != null && typeof next !== 'number') throw this.invalid(`${show(next)} follows its last argument; ${fix}.`)
  }

  /**
   * @param options all options, or those that are left
   * @param hint a sentence for one that is not known
   * @throws ConfigurationError `option_unknown` if there is one
   */
  mustHaveOnly(options: object, known: readonly string[], hint?: (stray: string) => string | undefined): void {
    const names = Object.keys(options)
    // An AbortSignal in the place of { signal } has no names of its own.
    if (names.length === 0 && !isBare(options) && !known.some((name) => name in options))
      throw this.invalid(`it takes one object of options: { ${known.join(', ')} }.`)
    const stray = names.find((name) => !known.includes(name))
    if (stray === undefined) return
    if (!isBare(options))
      throw this.invalid(`it takes one object of options: { ${known.join(', ')} }, not ${show(options)}.`)
    const fix = tellKnown(stray, known, hint?.(stray))
    throw new ConfigurationError('option_unknown', `${this.#owner} has no option "${stray}". ${fix}`)
  }

  /**
   * Returns what a function of the app answered to a question. A promise would count as true, and no answer as false.
   *
   * @throws ConfigurationError `option_invalid` for a promise, or none
   */
  mustAnswer(name: string, answer: unknown): boolean {
    if (answer === undefined)
      throw this.invalid(`${name} returned undefined; give a function that returns true or false.`)
    if (!isThenable(answer)) return Boolean(answer)
    ignoreRejection(answer)
    throw this.invalid(`${name} returned a promise; it has to answer true or false immediately.`)
  }

  /** Returns an error to throw, with a custom message. */
  invalid(message: string): ConfigurationError {
    return new ConfigurationError('option_invalid', `${this.#owner}: ${message}`)
  }
}

/**
 * Returns functions that refuse what stands behind their last argument, which nothing would read. None of them has a default
 * value for an argument.
 *
 * @param owner the name of what has the functions, such as `client`
 */
export function closeCalls<T extends object>(owner: string, calls: T): T {
  const close = (name: string, value: unknown): unknown => {
    if (typeof value !== 'function') return closeCalls(name, Object(value))
    return (...args: unknown[]) => {
      const many = value.length === 1 ? 'one argument' : `${value.length} arguments`
      new OptionChecker(name).mustEnd(args[value.length], `it takes ${many}`)
      return Reflect.apply(value, undefined, args)
    }
  }
  return Object.fromEntries(Object.entries(calls).map(([name, value]) => [name, close(`${owner}.${name}`, value)])) as T
}

/** Finds the name that holds a word, such as `signatureHeader` for `header`, or that is part of it, such as `secret` of `webhookSecret`. */
function findWord(word: string, known: readonly string[]): string | undefined {
  const isIn = (part: string, whole: string) => part.length > 2 && whole.toLowerCase().includes(part.toLowerCase())
  return known.find((name) => word.length > 3 && isIn(word, name)) ?? known.find((name) => isIn(name, word))
}

/** Names of options in other libraries, and what they are called here. */
const SYNONYMS: readonly (readonly [RegExp, readonly string[]])[] = [
  [
    /ur[il]$|^(endpoint|host|port|path|route|redis|client|connectionString)$/i,
    ['baseUrl', 'url', 'path', 'connection', 'client', 'target', 'pool'],
  ],
  [/^(db|file\w*|path|client|connection)$/i, ['database', 'pool', 'client']],
  [/^(ttl|expir|retention|maxAge)/i, ['retentionMs', 'deadLetterMs']],
  [/tolerance|skew|^max\w*age/i, ['toleranceMs', 'maxAge']],
  [/^(max)?(body|request|payload|size|bytes|limit)(size|bytes|length)?(limit)?$/i, ['maxBodyBytes']],
  [/^(size|limit|capacity)$/i, ['max']],
  [/^(max)?(retries|tries|attempts)$/i, ['attempts', 'maxRetries']],
  [/concurren|parallel/i, ['concurrency', 'maxInFlight']],
  [/timeout/i, ['timeoutMs', 'handlerTimeoutMs', 'waitMs', 'forMs']],
  [/^now$|^timer/i, ['clock']],
  [/^log(ging)?$/i, ['logger']],
  [/dedup|idempoten|^(cache|db|database|redis)$/i, ['store']],
  [/^(key|token)$/i, ['secret']],
  [/header/i, ['signatureHeader', 'headers']],
  [/^schemas?$/i, ['models', 'events']],
  [/^namespace$/i, ['prefix']],
  [/^onFail/i, ['onError']],
  [/^(failures?|errors?)$/i, ['fail']],
]

function findSynonym(word: string, known: readonly string[]): string | undefined {
  const meant = SYNONYMS.flatMap(([pattern, names]) => (pattern.test(word) ? names : []))
  return meant.find((name) => known.includes(name))
}

/** Returns sentences for a name that is not known: the nearest one, or a hint, and all. */
export function tellKnown(stray: string, known: readonly string[], hint?: string): string {
  const nearest =
    findNearest(stray, known, 1) ?? findSynonym(stray, known) ?? findWord(stray, known) ?? findNearest(stray, known)
  const meant = hint ?? (nearest === undefined ? undefined : `Did you mean "${nearest}"?`)
  return `${meant === undefined ? '' : `${meant} `}It takes ${known.join(', ') || 'none'}.`
}

function isHttp(text: string): boolean {
  return /^\s*https?:\/\//i.test(text) && URL.canParse(text)
}

/** Returns true for an object of no class, of this realm or another one. */
function isBare(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Returns true for an object that may hold options, or fields. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return !/^\[object (Map|Set|Date|RegExp|Promise)\]$/.test(Object.prototype.toString.call(value))
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

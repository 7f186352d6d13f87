import { InvalidArgumentError, Option } from 'commander'
import { SIGNATURE_HEADER } from '../../../src/protocol/head.ts'
import { isLoopback } from '../../../src/protocol/loopback.ts'
import { OptionChecker } from '../../../src/protocol/option-checker.ts'
import { SIGNATURE_NAME } from '../../../src/protocol/signature-name.ts'
import { findWholeUrl } from '../../../src/protocol/whole-url.ts'
import { parseDuration } from '../../wire/parse-duration.ts'
import { usageError } from '../io.ts'
import { toPrintable } from '../output/print-table.ts'

/** Splits words at commas. The option may be repeated. */
export function collectWords(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...value.split(',').map((name) => name.trim())]
}

export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/** Makes a reader of a number. @param what a number of this form that is accepted is, for people */
export function numberReader(form: RegExp, isWanted: (number: number) => boolean, what: string) {
  return (value: string): number => {
    if (form.test(value) && isWanted(Number(value))) return Number(value)
    throw new InvalidArgumentError(`It must be ${what}.`)
  }
}

/** Digits of a whole number. */
export const WHOLE = /^(0|[1-9]\d{0,8})$/

export const readLimit = numberReader(WHOLE, () => true, 'a whole number')
export const readCount = numberReader(WHOLE, (count) => count > 0, 'a whole number, at least 1')
export const readRate = numberReader(/^\d+(\.\d+)?$/, (rate) => rate > 0, 'a number above 0')

/** Reads a duration of at least 1 ms, in milliseconds. */
export function readDuration(value: string): number {
  const ms = tryDuration(value) ?? 0
  if (ms < 1) throw new InvalidArgumentError('It must be a number and a unit: 500ms, 10s, 5m30s, 2h.')
  return ms
}

/** Reads a duration; undefined if the text is none. */
export function tryDuration(text: string): number | undefined {
  try {
    return parseDuration(text)
  } catch {
    return undefined
  }
}

/** Makes an option for a duration, whose help shows the default value as this text. */
export function durationOption(flags: string, description: string, ms: number, text: string): Option {
  return new Option(flags, description).argParser(readDuration).default(ms, text)
}

/** Makes an option for the time of a wait, which may be none: `0s`. */
export function waitOption(flags: string, description: string, ms: number, text: string): Option {
  const read = (value: string) => (tryDuration(value) === 0 ? 0 : readDuration(value))
  return new Option(flags, description).argParser(read).default(ms, text)
}

/** Makes the option for the name of the signature header. */
export function signatureHeaderOption(): Option {
  const read = (name: string) => {
    new OptionChecker('--signature-header').mustBe('signatureHeader', name, SIGNATURE_HEADER)
    return name
  }
  return new Option('--signature-header <name>', 'the header that holds the signature')
    .argParser(read)
    .default(SIGNATURE_NAME)
}

/** Names an invalid URL in a message. The value of a variable may be a secret, and is not repeated. */
export function nameUrl(name: string, text: string): string {
  return name.startsWith('--') ? `${name} ${toPrintable(text.replace(/^.*@/s, '***@'))}` : name
}

/** Returns the URL that was probably meant, with the path of the example if it has none; or the example. The value of a variable is not repeated. */
export function wholeUrl(name: string, text: string, example = 'http://localhost:3000/webhooks'): string {
  const meant = name.startsWith('--') ? findWholeUrl(text) : undefined
  return meant?.replace(/^(\w+:\/\/[^/]+)\/$/, `$1${example.replace(/^\w+:\/\/[^/]+/, '')}`) ?? example
}

/** Reads a URL of HTTP. @param example has the path of such a URL */
export function readUrl(text: string, option: string, example?: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url
  throw usageError(`${nameUrl(option, text)} is not a URL; write it whole: ${wholeUrl(option, text, example)}`)
}

/**
 * Reads a URL to which events may be sent.
 *
 * @param option the option, or the variable, that holds it
 * @param allowRemote also to a host that is not this machine
 * @param remedy the options that allow it
 */
export function readTargetUrl(text: string, option: string, allowRemote: boolean, remedy = '--yes'): URL {
  const url = readUrl(text, option)
  if (!allowRemote && !isLoopback(url))
    throw usageError(
      `${url.hostname} is not this machine, and the events look real. If this is intended, add ${remedy}.`,
    )
  return url
}

import { escapeUnits } from '../host/escape.ts'

/** Formats a value of the app for a message. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value !== 'object' || value === null) return String(value)
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  if (tag === 'Promise') return 'a promise'
  if (tag === 'URL') return JSON.stringify(String(value))
  return tag === 'Object' || !/^\w+$/.test(tag) ? 'an object' : `an object (${tag})`
}

/** Quotes a sender's text for a message, and escapes characters that a terminal or a log viewer could act on. */
export function quote(text: string): string {
  return `"${escapeUnits(text, /["\\\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu)}"`
}

/** Quotes text for a shell. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Returns text as one word of a shell, quoted if necessary. */
export function toShellWord(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : quoteForShell(text)
}

/** Returns the message of a thrown value, which need not be an error. */
export function reasonOf(thrown: unknown): string {
  return isError(thrown) ? thrown.message : 'it threw something that is not an error'
}

/** Returns true for an error. `instanceof` fails for one of another realm, such as those of Node's own modules under Jest. */
export function isError(value: unknown): value is Error {
  const { name, message } = Object(value)
  return typeof name === 'string' && typeof message === 'string'
}

import { createHash } from 'node:crypto'

/** Printable ASCII without what is special in an array literal. */
const PLAIN = /^[ !\x23-\x5b\x5d-\x7e]+$/
const LONGEST_KEY = 400

/**
 * A key as Postgres can hold it: its text knows neither NUL nor lone surrogates, and an index takes no long ones. Keys of receivers
 * mostly stay as they are. The others become a digest over their UTF-16 code units behind `#`.
 */
export function encodeKey(key: string): string {
  if (key.length <= LONGEST_KEY && PLAIN.test(key) && !key.startsWith('#')) return key
  return `#${createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('base64url')}`
}

/** A mark as Postgres can hold it; `decodeMark` gives it back as it was. */
export function encodeMark(mark: string): string {
  if (PLAIN.test(mark) && !mark.startsWith('%')) return mark
  return `%${Buffer.from(mark, 'utf16le').toString('base64url')}`
}

export function decodeMark(text: string): string {
  return text.startsWith('%') ? Buffer.from(text.slice(1), 'base64url').toString('utf16le') : text
}

/** An array literal of plain texts. The driver's own would look at each for what has to be escaped. */
export function toArrayLiteral(texts: readonly (string | number)[]): string {
  return texts.length === 0 ? '{}' : `{"${texts.join('","')}"}`
}

/** A name in quotes, whatever is in it. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A literal of text, whatever is in it, and whatever a backslash stands for on its connection. */
export function asText(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted
}

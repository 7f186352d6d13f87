import { createHash } from 'node:crypto'

/** Printable ASCII without the special characters of array literals. */
const PLAIN = /^[ !\x23-\x5b\x5d-\x7e]+$/
const LONGEST_KEY = 400

/** Replaces keys that Postgres does not take, or that are long, by a digest over their UTF-16 code units. */
export function encodeKey(key: string): string {
  if (key.length <= LONGEST_KEY && PLAIN.test(key) && !key.startsWith('#')) return key
  return `#${createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('base64url')}`
}

/** Encodes a mark for Postgres; `decodeMark` restores it. */
export function encodeMark(mark: string): string {
  if (PLAIN.test(mark) && !mark.startsWith('%')) return mark
  return `%${Buffer.from(mark, 'utf16le').toString('base64url')}`
}

export function decodeMark(text: string): string {
  return text.startsWith('%') ? Buffer.from(text.slice(1), 'base64url').toString('utf16le') : text
}

/** Returns an array literal of plain texts. The driver's own function would search each text for characters to escape. */
export function toArrayLiteral(texts: readonly (string | number)[]): string {
  return texts.length === 0 ? '{}' : `{"${texts.join('","')}"}`
}

/** Quotes a name, whatever it contains. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Returns a text literal, whatever the text contains, and whatever a backslash means on its connection. */
export function asText(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted
}

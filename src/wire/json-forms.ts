import { createHash } from 'node:crypto'

export const BODY_FORMATS = ['compact', 'spaced', 'pretty', 'escaped', 'random'] as const

/** A way to write JSON. The service's own is not documented, so a receiver has to take all of them. */
export type BodyFormat = (typeof BODY_FORMATS)[number]

/**
 * Writes a value as JSON.
 *
 * @param seed for `random` only: one seed writes one value in the same way every time. Default: the value itself.
 */
export function formatJson(value: unknown, format: BodyFormat, seed?: string | number): string {
  const compact = JSON.stringify(value)
  switch (format) {
    case 'compact':
      return compact
    case 'pretty':
      return `${JSON.stringify(value, null, 2)}\n`
    case 'spaced':
      return compact.replace(TOKENS, (token) => (token.length === 1 && /[:,]/.test(token) ? `${token} ` : token))
    case 'escaped':
      return escapeUnicode(escapeSlashes(compact))
    case 'random':
      return formatAtRandom(compact, createNumbers(String(seed ?? compact)))
  }
}

/** A string is taken whole, so that only what stands between values is widened. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[:,{}[\]]/g

/** Characters that may be escaped, as whole ones: one unit of a surrogate pair alone must not be. */
const ESCAPABLE = /[/\u{80}-\u{10ffff}]/gu

/** Writes the same JSON with slashes as `\/`. */
export function escapeSlashes(json: string): string {
  return json.replaceAll('/', '\\/')
}

/** Writes the same JSON with all non-ASCII characters as `\u` and four digits. */
export function escapeUnicode(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Blanks, line ends and escapes wherever JSON allows them. */
function formatAtRandom(compact: string, random: () => number): string {
  const blanks = ['', '', '', ' ', '  ', '\n', '\t', '\r\n']
  const blank = () => blanks[Math.floor(random() * blanks.length)] ?? ''
  const body = compact.replace(TOKENS, (token) =>
    token.length === 1
      ? `${blank()}${token}${blank()}`
      : token.replace(ESCAPABLE, (character) => (random() < 0.5 ? escapeUnicode(escapeSlashes(character)) : character)),
  )
  // Never quite as JSON.stringify writes it, whatever was drawn: a receiver that signs that has to fail.
  return `${blank()}${body} `
}

/** Numbers from 0 to 1, the same for the same seed: mulberry32. */
function createNumbers(seed: string): () => number {
  let state = createHash('sha256').update(seed).digest().readInt32LE(0)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

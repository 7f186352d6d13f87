import { createHash } from 'node:crypto'
import { escapeUnits } from '../../src/host/escape.ts'

export const BODY_FORMATS = ['compact', 'spaced', 'pretty', 'escaped', 'random'] as const

/** Style of JSON. The service does not document its own, so a receiver must accept all of them. */
export type BodyFormat = (typeof BODY_FORMATS)[number]

/**
 * Serializes a value as JSON.
 *
 * @param seed for `random` only: the same seed and value produce the same text. Default: the value itself.
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

/** Matches whole strings, so that blanks are added only between values. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[:,{}[\]]/g

/** Matches characters that may be escaped. The flag `u` keeps surrogate pairs together. */
const ESCAPABLE = /[/\u{80}-\u{10ffff}]/gu

/** Escapes the slashes of JSON as `\/`. */
export function escapeSlashes(json: string): string {
  return json.replaceAll('/', '\\/')
}

/** Escapes the non-ASCII characters of JSON as `\u` and four digits. */
export function escapeUnicode(json: string): string {
  return escapeUnits(json, /[\u0080-\uffff]/g)
}

/** Adds blanks, line breaks and escapes at random, as far as JSON allows. */
function formatAtRandom(compact: string, random: () => number): string {
  const blanks = ['', '', '', ' ', '  ', '\n', '\t', '\r\n']
  const blank = () => blanks[Math.floor(random() * blanks.length)] ?? ''
  const body = compact.replace(TOKENS, (token) =>
    token.length === 1
      ? `${blank()}${token}${blank()}`
      : token.replace(ESCAPABLE, (character) => (random() < 0.5 ? escapeUnicode(escapeSlashes(character)) : character)),
  )
  // The blank at the end makes the text differ from JSON.stringify in any case: a receiver that signs its output must fail.
  return `${blank()}${body} `
}

/** Returns a generator of numbers from 0 to 1, the same for the same seed: mulberry32. */
function createNumbers(seed: string): () => number {
  let state = createHash('sha256').update(seed).digest().readInt32LE(0)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

import { escapeUnits } from '../../src/host/escape.ts'

/** Control characters except the line feed, invisible ones, and those that change the direction. */
const HIDDEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Writes hidden characters as escapes, as in a JavaScript string. */
export function escapeHidden(text: string): string {
  return escapeUnits(text, HIDDEN)
}

/** Returns true if a shell and a terminal leave the text unchanged: it consists of printable characters and line breaks. */
export function isPlainText(text: string): boolean {
  return text.search(HIDDEN) < 0 && !text.includes('\ufffd')
}

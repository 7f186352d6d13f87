import { escapeUnits } from '../../../src/host/escape.ts'

/** Decodes base64. */
export function fromBase64(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}

/** Makes white space visible, and escapes characters that would hide text or change its direction. */
export function showExactly(text: string): string {
  return escapeHidden(text.replace(/\r/g, '␍').replace(/\t/g, '→').replace(/\n/g, '⏎\n'))
}

/** Acts as `showExactly` on formatted text, whose line breaks are not part of the original. */
export function showReadably(text: string): string {
  return showExactly(text).replaceAll('⏎\n', '\n')
}

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

/** `611 bytes`, `12.3 KiB`. */
export function showSize(bytes: number): string {
  if (bytes < 1_024) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`
  return bytes < 1_024 * 1_024 ? `${(bytes / 1_024).toFixed(1)} KiB` : `${(bytes / 1_024 / 1_024).toFixed(1)} MiB`
}

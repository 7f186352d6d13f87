import { toShellWord } from '../../../src/protocol/show.ts'

/** Replaces characters that a terminal would obey, or that change the direction of text. */
export function toPrintable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '?')
}

/** Quotes text as one word of a shell command. */
export function toWord(text: string): string {
  return toShellWord(toPrintable(text))
}

/** Maximum width of a cell: every line is as wide as the widest. */
const MAX_CELL = 1_000

/** Writes lines in columns, with a dash for an unknown value. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string {
  const cells = [head, ...rows].map((row) => row.map(toCell))
  const widths = head.map((_, column) => cells.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0))
  return cells
    .map((row) => `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n')
}

function toCell(value: string | number | undefined): string {
  const text = toPrintable(String(value ?? ''))
  return (text.length > MAX_CELL ? `${text.slice(0, MAX_CELL)}…` : text) || '-'
}

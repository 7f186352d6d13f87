import { toShellWord } from '../../protocol/show.ts'

/** Text from outside, for a terminal, which must not take it for commands, nor turn its lines around. */
export function toPrintable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '?')
}

/** Text from outside as one word of a line that a user may copy into a shell. */
export function toWord(text: string): string {
  return toShellWord(toPrintable(text))
}

/** A cell wider than this is cut: each line of a table is as wide as the widest. */
const MAX_CELL = 1_000

/** Lines in columns, for people. What is unknown is a dash. */
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

/** Text from outside, for a terminal, which must not take it for commands, nor turn its lines around. */
export function toPrintable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '?')
}

/** Lines in columns, for people. What is unknown is a dash. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string {
  const cells = [head, ...rows.map((row) => row.map((cell) => toPrintable(String(cell ?? '')) || '-'))]
  const widths = head.map((_, column) => cells.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0))
  return cells
    .map((row) => `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n')
}

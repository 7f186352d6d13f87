/** Returns a text in which each match is replaced by its line ends, so that later text keeps its line. */
const blank = (text, pattern, instead = '') =>
  text.replace(pattern, (match) => instead + '\n'.repeat(match.split('\n').length - 1))

function* cellsOf(row, line) {
  const [, ...cells] = row
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|')
  for (const cell of cells) yield { text: cell.trim(), line }
}

/**
 * Yields the paragraphs, list items and table cells of a Markdown text with the line that each begins in. Code, HTML, targets of links,
 * headings, and the head and first column of tables are left out: they hold names, or anchors that other pages link to.
 */
export function* proseOf(markdown) {
  const withoutBlocks = blank(markdown, /^ *```[\s\S]*?^ *```$/gm)
  const plain = blank(blank(withoutBlocks, /`[^`]*`/g, '`'), /<[^>]*>/g).replace(/\]\([^)]*\)/g, ']')
  const lines = plain.split('\n')
  let paragraph = { text: '', line: 0 }
  for (const [index, line] of [...lines, ''].entries()) {
    const isProse = /\S/.test(line) && !/^(?:#|\||\s*[-|: ]+$)/.test(line)
    const item = /^\s*(?:[-*]|\d+\.)\s+/.exec(line)
    if (paragraph.text !== '' && (!isProse || item)) yield paragraph
    if (!isProse || item || paragraph.text === '') paragraph = { text: '', line: index + 1 }
    if (isProse) paragraph.text += `${item ? line.slice(item[0].length) : line}\n`
    const isHead = /^\|[-|: ]+$/.test(lines[index + 1] ?? '')
    if (/^\|(?![-|: ]+$)/.test(line) && !isHead) yield* cellsOf(line, index + 1)
  }
}

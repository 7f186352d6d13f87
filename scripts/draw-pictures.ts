/**
 * Draws `docs/images/*.txt` as pictures for the documents, light and dark: `npx tsx scripts/draw-pictures.ts`. The first line of a source
 * is the title. Each other line is a row, its cells divided by bars: `[box]`, `(answer)`, `-> label`, `v`, or plain text.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../docs/images')
const CHARACTER = 7.3
const PADDING = 14
const ROW = 34
const ARROW_ROW = 18
const MARGIN = 20

const THEMES = {
  light: { page: '#ffffff', text: '#1f2328', dim: '#59636e', edge: '#8c959f', box: '#f6f8fa', answer: '#ddf4ff' },
  dark: { page: '#0d1117', text: '#e6edf3', dim: '#9198a1', edge: '#6e7681', box: '#161b22', answer: '#12283f' },
} as const
type Theme = (typeof THEMES)[keyof typeof THEMES]

/** Escapes text for the content of an SVG element, or for an attribute without double quotes in it. */
export const escapeXml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** The text of a cell without its marks. */
const labelOf = (cell: string) => cell.replace(/^\[(.*)\]$|^\((.*)\)$|^-> ?(.*)$/, '$1$2$3')

function widthOf(cell: string): number {
  if (cell === 'v') return 0
  return Math.max(labelOf(cell).length * CHARACTER + 2 * PADDING, cell.startsWith('->') ? 44 : 0)
}

function drawCell(cell: string, x: number, y: number, width: number, height: number, theme: Theme): string {
  const [middle, centre] = [y + height / 2, x + width / 2]
  const label = (fill: string, textY = middle + 4) =>
    `<text x="${centre}" y="${textY}" text-anchor="middle" fill="${fill}">${escapeXml(labelOf(cell))}</text>`
  if (cell === '') return ''
  if (cell === 'v') return `<path d="M${centre} ${y}V${y + height - 1}" marker-end="url(#end)"/>`
  if (cell.startsWith('->'))
    return `<path d="M${x + 4} ${middle}H${x + width - 5}" marker-end="url(#end)"/>${label(theme.dim, middle - 6)}`
  if (!/^[[(]/.test(cell)) return label(theme.dim)
  const isBox = cell.startsWith('[')
  const rectangle = `x="${x}" y="${y + 2}" width="${width}" height="${height - 4}" rx="${isBox ? 4 : 14}"`
  return `<rect ${rectangle} fill="${isBox ? theme.box : theme.answer}" stroke="${theme.edge}"/>${label(theme.text)}`
}

function draw(source: string, theme: Theme): string {
  const [title = '', ...lines] = source.trimEnd().split('\n')
  const rows = lines.map((line) => line.split('|').map((cell) => cell.trim()))
  const columns = Array.from({ length: Math.max(...rows.map((cells) => cells.length)) }, (_, column) =>
    Math.max(...rows.map((cells) => widthOf(cells[column] ?? ''))),
  )
  const heights = rows.map((cells) => (cells.every((cell) => cell === '' || cell === 'v') ? ARROW_ROW : ROW))
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)
  const [width, height] = [Math.ceil(sum(columns)) + 2 * MARGIN, sum(heights) + 2 * MARGIN]
  const cells = rows.flatMap((row, r) =>
    row.map((cell, c) => {
      const [x, y] = [MARGIN + sum(columns.slice(0, c)), MARGIN + sum(heights.slice(0, r))]
      return drawCell(cell, x, y, columns[c] ?? 0, heights[r] ?? 0, theme)
    }),
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">
<style>text{font:13px ui-sans-serif,system-ui,sans-serif}path{stroke:${theme.edge};stroke-width:1.5;fill:none}</style>
<marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z" style="fill:${theme.edge};stroke:none"/></marker>
<rect width="${width}" height="${height}" rx="6" fill="${theme.page}"/>
${cells.filter((cell) => cell !== '').join('\n')}
</svg>
`
}

/** Returns the text of each picture by its path. */
export function drawPictures(): ReadonlyMap<string, string> {
  const pictures = new Map<string, string>()
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.txt'))) {
    const source = readFileSync(join(FOLDER, file), 'utf8')
    for (const theme of ['light', 'dark'] as const)
      pictures.set(join(FOLDER, file.replace('.txt', `-${theme}.svg`)), draw(source, THEMES[theme]))
  }
  return pictures
}

if (process.argv[1] === import.meta.filename)
  for (const [path, picture] of drawPictures()) {
    writeFileSync(path, picture)
    console.log(path)
  }

/**
 * Records `npm start` as two animated pictures for the README, light and dark: `npx tsx scripts/record-start.ts`. Each line appears at the
 * time when it was printed. Readers who prefer reduced motion see all lines immediately.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { escapeXml } from './draw-pictures.ts'

interface Line {
  readonly text: string
  readonly atMs: number
}

const COLUMNS = 128
const FONT_SIZE = 12
const LINE_HEIGHT = 18
const MARGIN = 16
/** Slower than real time, so that it can be read. */
const SLOW_DOWN = 2.5

const THEMES = {
  light: { page: '#ffffff', edge: '#d0d7de', text: '#1f2328', dim: '#59636e', green: '#116329', red: '#b3261e' },
  dark: { page: '#0d1117', edge: '#30363d', text: '#e6edf3', dim: '#9198a1', green: '#4ac26b', red: '#ff8f87' },
} as const

/** Runs the example in its own terminal, since it prints colours only to a terminal. */
async function record(): Promise<readonly Line[]> {
  const command = 'stty cols 200; npm start --silent'
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NO_COLOR: undefined, FORCE_COLOR: undefined, TERM: 'xterm-256color' },
  })
  const ended = once(child, 'close')
  const lines: Line[] = [{ text: '\u001b[1m$ npm start\u001b[22m', atMs: 0 }]
  let startedAt: number | undefined
  for await (const text of createInterface({ input: child.stdout })) {
    if (text.startsWith('npm warn')) continue
    startedAt ??= Date.now()
    lines.push({ text: text.replace(/\r$/, ''), atMs: Date.now() - startedAt + 600 })
  }
  const [code] = await ended
  if (code !== 0) throw new Error(`npm start ended with ${code}`)
  return lines
}

const CLASSES: Readonly<Record<string, string>> = { 1: 'bold', 2: 'dim', 31: 'red', 32: 'green' }

/** Returns a line as parts of SVG text: the styles of `styleText` become classes, and long lines are cut. */
function toSpans(text: string): string {
  let room = COLUMNS
  let spans = ''
  for (const part of `0m${text}`.split('\u001b[')) {
    const end = part.indexOf('m') // the part begins with the number of a style
    const style = CLASSES[part.slice(0, end)]
    const plain = part.slice(end + 1)
    const shown = escapeXml(plain.length > room ? `${plain.slice(0, Math.max(0, room - 1))}…` : plain)
    if (room > 0 && shown !== '') spans += style === undefined ? shown : `<tspan class="${style}">${shown}</tspan>`
    room -= plain.length
  }
  return spans
}

function draw(lines: readonly Line[], theme: keyof typeof THEMES): string {
  const { page, edge, text, dim, green, red } = THEMES[theme]
  const width = Math.ceil(COLUMNS * FONT_SIZE * 0.602) + 2 * MARGIN
  const height = lines.length * LINE_HEIGHT + 2 * MARGIN
  const rows = lines.flatMap(({ text: line, atMs }, row) => {
    const y = MARGIN + (row + 0.75) * LINE_HEIGHT
    const delay = ((atMs * SLOW_DOWN) / 1000).toFixed(2)
    const spans = toSpans(line)
    return spans === '' ? [] : [`<text x="${MARGIN}" y="${y}" style="animation-delay:${delay}s">${spans}</text>`]
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="The output of npm start: deliveries that are handled, refused, retried and replayed">
<style>
text{font:${FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:${text};animation:show .15s both}
.bold{font-weight:600}.dim{fill:${dim}}.green{fill:${green}}.red{fill:${red}}
@keyframes show{from{opacity:0}}
@media (prefers-reduced-motion:reduce){text{animation:none}}
</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="6" fill="${page}" stroke="${edge}"/>
${rows.join('\n')}
</svg>
`
}

const lines = await record()
mkdirSync('docs/images', { recursive: true })
for (const theme of ['light', 'dark'] as const) writeFileSync(`docs/images/start-${theme}.svg`, draw(lines, theme))
console.log(`docs/images/start-{light,dark}.svg: ${lines.length} lines`)

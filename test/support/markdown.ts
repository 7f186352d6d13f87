/** A fenced block of code in a Markdown text. */
export interface CodeBlock {
  /** The words behind the fence: the language, and the rest. */
  readonly info: readonly string[]
  readonly code: string
  /** The line of the fence, from 1. */
  readonly line: number
}

/** Returns all fenced blocks, including those that are indented below a list item. */
export function findCodeBlocks(markdown: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = []
  const lines = markdown.split('\n')
  for (let start = 0; start < lines.length; start++) {
    const fence = /^( *)```(.*)$/.exec(lines[start] ?? '')
    if (fence === null) continue
    const [, indent = '', info = ''] = fence
    const end = lines.indexOf(`${indent}\`\`\``, start + 1)
    if (end < 0) throw new Error(`the code block in line ${start + 1} has no end`)
    const code = lines.slice(start + 1, end).map((line) => line.slice(indent.length))
    blocks.push({ info: info.trim().split(/\s+/), code: `${code.join('\n')}\n`, line: start + 1 })
    start = end
  }
  return blocks
}

/** Returns the part below a heading, up to the next heading of its level or a higher one. */
export function findSection(markdown: string, heading: string): string {
  const [, marks = ''] = /^(#+) /.exec(heading) ?? []
  const lines = markdown.split('\n')
  const start = lines.indexOf(heading)
  if (start < 0) throw new Error(`there is no heading "${heading}"`)
  const next = lines.findIndex((line, at) => at > start && new RegExp(`^#{1,${marks.length}} `).test(line))
  return lines.slice(start + 1, next < 0 ? lines.length : next).join('\n')
}

/** Returns the rows of the first table, without its head; each cell is plain text, without links and code marks. */
export function readTable(markdown: string): readonly (readonly string[])[] {
  const lines = markdown.split('\n')
  const start = lines.findIndex((line) => line.startsWith('|---'))
  if (start < 0) throw new Error('there is no table')
  const rest = lines.slice(start + 1)
  const end = rest.findIndex((line) => !line.startsWith('|'))
  return rest.slice(0, end < 0 ? rest.length : end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => toPlain(cell.trim())),
  )
}

/** Returns the anchors that GitHub makes for the headings of a text, and those written by hand. */
export function listAnchors(markdown: string): readonly string[] {
  const withoutCode = markdown.replace(/^```[\s\S]*?^```/gm, '')
  const headings = [...withoutCode.matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
    toPlain(text)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
  const numbered = headings.map((heading, index) => {
    const before = headings.slice(0, index).filter((other) => other === heading).length
    return before === 0 ? heading : `${heading}-${before}`
  })
  return [...numbered, ...[...withoutCode.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)]
}

/** Returns the targets of a text's links and pictures, without those in code. */
export function listLinks(markdown: string): readonly string[] {
  const withoutCode = markdown.replace(/^ *```[\s\S]*?^ *```/gm, '').replace(/`[^`\n]*`/g, '`')
  return [...withoutCode.matchAll(/\]\(([^)\s]+)\)| (?:src|srcset|href)="([^"]+)"/g)].map(
    ([, target, attribute]) => target ?? attribute ?? '',
  )
}

function toPlain(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
}

import { type CodeBlock, findCodeBlocks, findSection } from './markdown.ts'
import { readText } from './repository.ts'

/** A step of a guide's reader. */
export type Step =
  | { readonly does: 'save'; readonly file: string; readonly code: string; readonly language: string }
  | {
      readonly does: 'type'
      readonly lines: readonly string[]
      readonly terminals: Terminals
      /** Text that the first terminal has to print before the reader goes on. */
      readonly awaited: string | undefined
      readonly title: string
    }

/** The word behind `sh` says it. */
const TERMINALS = {
  one: 'Commands that end, one after the other.',
  server: 'Each line runs on, in a terminal of its own.',
  terminals: 'Each line in a terminal of its own: all but the last run on.',
  elsewhere: 'Not typed by the tests: it needs the service, a container, or something else that they do not have.',
} as const
type Terminals = keyof typeof TERMINALS

const INDEX = 'docs/README.md'
/** Section of the index that other guides link to: a reader goes there and comes back. */
const DETOUR = { anchor: 'with-typescript', heading: '## With TypeScript' }

/**
 * Returns the steps of a page's reader in their order: files to save, commands to type, links to follow to the sections that all guides
 * share.
 */
export function readSteps(page: string, ...headings: readonly string[]): readonly Step[] {
  const text = readText(page)
  const parts = headings.length === 0 ? [text] : headings.map((heading) => findSection(text, heading))
  const first = findCodeBlocks(text).find(({ info }) => info[1] === 'server')
  return parts.flatMap((part) => [...readPart(page, part, first)])
}

function* readPart(page: string, text: string, first: CodeBlock | undefined): Generator<Step> {
  const lines = text.split('\n')
  let end = 0
  for (const block of findCodeBlocks(text)) {
    const prose = lines.slice(end, block.line - 1).join('\n')
    end = block.line + block.code.split('\n').length
    yield* readProse(page, prose, first)
    yield* readBlock(page, block, prose)
  }
  yield* readProse(page, lines.slice(end).join('\n'), first)
}

/** `Save the receiver above as …` is the first server of the page; `save the … of [another guide](…)` the first file of that name there. */
function* readProse(page: string, prose: string, first: CodeBlock | undefined): Generator<Step> {
  for (const [, name, guide] of prose.matchAll(/[Ss]ave the `([^`]+)` of \[[^\]]+\]\(([\w-]+\.md)\)/g)) {
    const step = readSteps(`docs/guides/${guide}`).find((step) => step.does === 'save' && step.file === name)
    if (step !== undefined) yield step
  }
  const [, file] = /[Ss]ave the \w+ above as `([^`]+)`/.exec(prose) ?? []
  if (file !== undefined && first !== undefined) yield toFile(file, first)
  if (page !== INDEX && new RegExp(`\\]\\([\\w./]*README\\.md#${DETOUR.anchor}\\)`).test(prose))
    yield* readSteps(INDEX, DETOUR.heading)
}

/** `Save this as …` in the paragraph before a block names its file. */
function* readBlock(page: string, block: CodeBlock, prose: string): Generator<Step> {
  const [language, word = 'one'] = block.info
  if (language === 'sh') {
    if (!isTerminals(word)) throw new Error(`${page}: "sh ${word}" is none of ${Object.keys(TERMINALS).join(', ')}`)
    const typed = block.code.replaceAll('\\\n', ' ').trim().split('\n')
    const [, awaited] = /when the first has printed\s+`([^`]+)`/.exec(prose) ?? []
    if (word !== 'elsewhere')
      yield { does: 'type', lines: typed, terminals: word, awaited, title: `${page}: ${typed[0]}` }
    return
  }
  const file = findFileName(prose)
  if (file !== undefined) yield toFile(file, block)
}

/** The file in which the paragraph before a block has its reader save it. */
function findFileName(prose: string): string | undefined {
  const paragraph =
    prose
      .trimEnd()
      .split(/\n\s*\n/)
      .at(-1) ?? ''
  return [...paragraph.matchAll(/(?:[Ss]ave|And)\s+this\s+as\s+`([^`]+)`/g)].at(-1)?.[1]
}

function toFile(file: string, { info, code }: CodeBlock): Step {
  return { does: 'save', file, code, language: info[0] ?? '' }
}

function isTerminals(word: string): word is Terminals {
  return Object.hasOwn(TERMINALS, word)
}

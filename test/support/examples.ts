import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { buildOnce } from './build-once.ts'
import { type CodeBlock, findCodeBlocks } from './markdown.ts'
import { ROOT, readText } from './repository.ts'

/**
 * The use of a `ts` block, named by the word behind `ts`; a third word names its file, so that other blocks of the document can import it,
 * or distinguishes it from similar ones.
 */
const USES = {
  check: 'Type-checked, strictly and against the source. So are all others.',
  run: 'A whole program, which is run to its end.',
  server: 'A program that listens on PORT. It is started and sent deliveries.',
  mount:
    'A module that exports what answers requests: a listener of node:http, a Fetch handler, or a route of Next.js.',
  vitest: 'A file of tests, which run among those of this repository.',
  before: 'An app with a fault, which a scenario by the name of the third word brings to light.',
  after: 'The app in which no scenario finds its fault.',
  walk: 'A file that test/walks.test.ts compiles and runs, with packages that this repository does not have.',
  wrong: 'Does not compile. The next block, `text`, holds the complaints.',
} as const

/** The use of a block. */
type Use = keyof typeof USES

/** A `ts` block, or one of plain JavaScript, `js`: a separate module. */
export interface Example {
  readonly document: string
  /** The line of its fence, from 1. */
  readonly line: number
  /** Its document and line, for messages. */
  readonly title: string
  readonly use: Use
  /** The third word behind the fence; empty if there is none. */
  readonly name: string
  readonly code: string
  /** The path to which `writeExamples` writes it, from the root of the repository. */
  readonly path: string
  /** The code that Node runs: a server unchanged, since it is JavaScript as well; otherwise its compiled form. */
  readonly program: string
}

/** A block of any language, and its place. */
export interface DocumentBlock extends CodeBlock {
  readonly document: string
}

export function readBlocks(documents: readonly string[]): readonly DocumentBlock[] {
  return documents.flatMap((document) => findCodeBlocks(readText(document)).map((block) => ({ ...block, document })))
}

/** Makes a folder that git ignores, in which the packages of this repository are found. Returns its path from the root. */
export function makeFolder(): string {
  mkdirSync(join(ROOT, '.data'), { recursive: true })
  const folder = mkdtempSync(join(ROOT, '.data/docs-'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  return folder.slice(ROOT.length)
}

/** Installs the package in the folder, for programs that are run there. */
export async function installPackage(folder: string): Promise<void> {
  const home = join(ROOT, folder, 'node_modules/postern')
  mkdirSync(home, { recursive: true })
  copyFileSync(join(ROOT, 'package.json'), join(home, 'package.json'))
  cpSync(await buildOnce(), join(home, 'dist'), { recursive: true })
}

/** Returns the `ts` and `js` blocks, each written into a folder of its document: one that imports another finds it there. */
export function writeExamples(blocks: readonly DocumentBlock[], folder: string): readonly Example[] {
  const examples = blocks
    .filter(({ info }) => info[0] === 'ts' || info[0] === 'js')
    .map((block) => toExample(block, folder))
  for (const { title, path } of examples)
    if (examples.filter((other) => other.path === path).length > 1)
      throw new Error(`${title}: its file is there already`)
  for (const { path, program, code } of examples) {
    mkdirSync(join(ROOT, dirname(path)), { recursive: true })
    writeFileSync(join(ROOT, program), program.endsWith('.js') ? compile(code) : code)
    writeFileSync(join(ROOT, path), code)
  }
  return examples
}

function toExample({ document, info, code, line }: DocumentBlock, folder: string): Example {
  const [, use = 'check', name = ''] = info
  const title = `${document}:${line}`
  if (!isUse(use)) throw new Error(`${title}: "ts ${use}" is none of ${Object.keys(USES).join(', ')}`)
  const file = /\.[cm]?[jt]s$/.test(name) ? name : `${use}-${name || line}.ts`
  const path = `${folder}/${document.replaceAll(/\W/g, '-')}/${file}`
  const program = path.replace(/\.ts$/, use === 'server' ? '.mjs' : '.js')
  return { document, line, title, use, name, code, path, program }
}

function compile(code: string): string {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, verbatimModuleSyntax: true }
  return ts.transpileModule(code, { compilerOptions }).outputText
}

function isUse(word: string): word is Use {
  return Object.hasOwn(USES, word)
}

export function removeFolder(path: string): void {
  rmSync(join(ROOT, path), { recursive: true, force: true })
}

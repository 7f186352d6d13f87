/**
 * Reads the comments, the titles of tests and the documents in the folders below, and reports words that the project does not use, with
 * their replacements. A doc comment starts with a verb or a noun, so that it stands alone in an editor.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { proseOf } from './markdown-prose.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Folders that are read with the folders in them. */
const TREES = ['adapters', 'bench', 'examples', 'scripts', 'src', 'test', 'tools']
/** Files whose strings and JSX texts are sentences that users read: texts of the checks, and of the inspector. */
const HAS_SENTENCES =
  /^tools\/(?:check\/(?:cases\/.*|diagnose|page|wrong-forms)|wire\/signature-mistakes|(?:emulator\/)?inspector\/.*)\.tsx?$/
/** Folders of Markdown, without the folders in them. A page that a script writes is checked by its source. */
const DOCUMENT_FOLDERS = ['docs/reference', 'docs/guides']
const DOCUMENTS = [
  'README.md',
  'ARCHITECTURE.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'docs/README.md',
  'docs/comparison.md',
  'docs/service.md',
]
const WRITTEN_BY_SCRIPTS = ['docs/reference/checks.md']

const BANNED = [
  [/\bgives?\b(?! (?:up|back)\b)/i, 'returns, or says who does what'],
  [/\bwhere\b/i, 'if'],
  [/\bat once\b/i, 'immediately, or concurrently'],
  [/\bof one's own\b/i, 'custom'],
  [/\bsomebody\b/i, 'another process, or who it is'],
  [/\bwhat (?:becomes?|became|comes?|came) of\b/i, 'the outcome of'],
  [/\bwhoever\b/i, 'anyone who, or who it is'],
  [/\b(?:any|every)body\b/i, 'anyone, or who it is'],
]
/** Banned in documents besides. */
const BANNED_IN_DOCUMENTS = [
  [/\bwhoever\b/i, 'anyone who, or who it is'],
  [/\b(?:tells|told)\b(?! \w+ apart)/i, 'reports, explains, or prints'],
  [/\bcomes? again\b/i, 'retries'],
  [/\bin place of\b/i, 'instead of'],
  [/\banew\b/i, 'again'],
  [/\bmend(?:s|ed)?\b/i, 'fix'],
  [/\bof (?:your|his|its|their) own\b/i, 'custom, separate, or your own'],
]
const FIRST_WORDS =
  /^(?:What|How|Why|Who|Whoever|Whose|Where|Whether|Tells?|Told|The same|Those|Nobody|Nothing|Also|Of|By)\b/
/** A statement does not open with these; a question may. */
const OPENING = /^[*("]*(?:What|How|Why|Who|Whoever|Whose|Where|Whether|Tells?|Told|Nobody)\b/i

/** Paths of the source files of a folder and the folders in it, without those of other packages. */
async function* walk(folder) {
  for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`
    if (entry.name === 'node_modules' || entry.name.startsWith('.')) continue
    if (entry.isDirectory()) yield* walk(path)
    else if (/\.(?:[mc]?[jt]s|tsx)$/.test(entry.name)) yield path
  }
}

/** Yields the parts of a source file whose text is not code: strings, templates, regular expressions and JSX texts. */
function* literalsOf(node, file) {
  if (ts.isLiteralExpression(node) || ts.isTemplateLiteralToken(node) || ts.isJsxText(node)) yield node
  const children = []
  ts.forEachChild(node, (child) => void children.push(child))
  for (const child of children) yield* literalsOf(child, file)
}

/** Every comment of a source file with its position: all of them stand outside literals. */
function* commentsOf(file, literals) {
  let code = ''
  for (const literal of literals)
    code = (code + file.text.slice(code.length, literal.getStart(file))).padEnd(literal.end)
  code += file.text.slice(code.length)
  for (const { 0: text, index } of code.matchAll(/\/\*[\s\S]*?\*\/|\/\/.*/g))
    yield { text: file.text.slice(index, index + text.length), at: index }
}

/** Every string of a source file with its position, the parts of templates, and the texts of JSX. */
function* stringsOf(file, literals) {
  for (const literal of literals)
    if (ts.isStringLiteral(literal) || ts.isTemplateLiteralToken(literal))
      yield { text: literal.text, at: literal.getStart(file) }
    else if (ts.isJsxText(literal))
      yield { text: literal.text.trim(), at: literal.end - literal.text.trimStart().length }
}

/** Every title of a test, or of a block of tests, with its position. */
function* titlesOf(node, file) {
  const title = ts.isCallExpression(node) ? node.arguments[0] : undefined
  if (title && (ts.isStringLiteralLike(title) || ts.isTemplateExpression(title)))
    if (/^(?:it|test|describe)\b/.test(node.expression.getText(file)))
      yield { text: title.getText(file).slice(1, -1), at: title.getStart(file) }
  const children = []
  ts.forEachChild(node, (child) => void children.push(child))
  for (const child of children) yield* titlesOf(child, file)
}

function* findBreaches(path, source) {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true)
  const lineAt = (index) => file.getLineAndCharacterOfPosition(index).line + 1
  const literals = [...literalsOf(file, file)]
  for (const { text, at } of commentsOf(file, literals)) {
    const words = text.replace(/`[^`]*`/g, '').replace(/^\s*\*+/gm, '')
    yield* findBanned(words, `${path}:${lineAt(at)}`)
    const first = FIRST_WORDS.exec(text.replace(/^\/\*\*\s*(?:\*\s*)?/, ''))
    if (text.startsWith('/**') && first)
      yield `${path}:${lineAt(at)} starts with "${first[0]}"; start with a verb or a noun`
  }
  if (path.startsWith('test/'))
    for (const { text, at } of titlesOf(file, file)) yield* findBanned(text, `${path}:${lineAt(at)}`)
  if (!HAS_SENTENCES.test(path)) return
  for (const { text, at } of stringsOf(file, literals)) {
    yield* findBanned(text, `${path}:${lineAt(at)}`)
    for (const sentence of text.split(/(?<=[.!?])\s+/)) {
      const opening = OPENING.exec(sentence)
      if (opening && sentence.includes(' ') && !sentence.endsWith('?'))
        yield `${path}:${lineAt(at)} opens with "${opening[0]}"; open with a subject or a verb`
    }
  }
}

function* findBanned(words, place) {
  for (const [word, instead] of BANNED) {
    const found = word.exec(words)
    if (found) yield `${place} has "${found[0]}"; write ${instead}`
  }
}

function* findBreachesOfDocument(path, source) {
  for (const { text, line } of proseOf(source)) {
    const lineAt = (index) => line + text.slice(0, index).split('\n').length - 1
    for (const [word, instead] of [...BANNED, ...BANNED_IN_DOCUMENTS])
      for (const found of text.matchAll(new RegExp(word.source.replaceAll(' ', '\\s+'), 'gi')))
        yield `${path}:${lineAt(found.index)} has "${found[0]}"; write ${instead}`
    for (const sentence of text.split(/(?<=[.!?])\s+/)) {
      const opening = OPENING.exec(sentence)
      if (opening && !/\?$/.test(sentence.trim()))
        yield `${path}:${lineAt(text.indexOf(sentence))} opens with "${opening[0]}"; open with a subject or a verb`
    }
  }
}

const paths = []
for (const tree of TREES) for await (const path of walk(tree)) paths.push(path)
const breaches = []
for (const path of paths) breaches.push(...findBreaches(path, await readFile(join(root, path), 'utf8')))
const documents = [...DOCUMENTS]
for (const folder of DOCUMENT_FOLDERS)
  for (const name of await readdir(join(root, folder)))
    if (name.endsWith('.md') && !WRITTEN_BY_SCRIPTS.includes(`${folder}/${name}`)) documents.push(`${folder}/${name}`)
for (const path of documents) breaches.push(...findBreachesOfDocument(path, await readFile(join(root, path), 'utf8')))
for (const breach of breaches) console.error(breach)
if (breaches.length > 0) process.exitCode = 1

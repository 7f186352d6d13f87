/**
 * Reads the comments of the folders below, and reports words that the project does not use, with what it writes instead. A doc comment
 * starts with a verb or a noun, so that it stands alone in an editor.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Folders that are read with the folders in them. */
const TREES = ['src']
const FILES = ['answer', 'body', 'check-options', 'express', 'fastify', 'next', 'node', 'web'].map(
  (name) => `adapters/http/${name}.ts`,
)
/** Folders in them that are not read yet. */
const SKIPPED = ['src/inspector', 'src/emulator/inspector']
/** Files whose strings are sentences of a document. */
const HAS_SENTENCES = /^src\/check\/(?:cases\/.*|diagnose|page|wrong-forms)\.ts$/

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
const FIRST_WORDS =
  /^(?:What|How|Why|Who|Whoever|Whose|Where|Whether|Tells?|Told|The same|Those|Nobody|Nothing|Also|Of|By)\b/
/** A statement does not open with these; a question may. */
const OPENING = /^(?:What|How|Why|Who|Whoever|Whose|Where|Whether|Nobody)\b/

/** Paths of the source files of a folder and the folders in it, without those of other packages. */
async function* walk(folder) {
  for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`
    if (entry.name === 'node_modules' || entry.name.startsWith('.') || SKIPPED.includes(path)) continue
    if (entry.isDirectory()) yield* walk(path)
    else if (/\.(?:[mc]?[jt]s|tsx)$/.test(entry.name)) yield path
  }
}

/** Yields the tokens of a source file. A scanner alone gets lost in templates. */
function* tokensOf(node, file) {
  const children = node.getChildren(file).filter((child) => !ts.isJSDoc(child))
  if (children.length === 0) yield node
  for (const child of children) yield* tokensOf(child, file)
}

/** Every comment of a source file with its position: all of them stand between tokens. */
function* commentsOf(file) {
  for (const token of tokensOf(file, file)) {
    const length = token.getStart(file, false) - token.pos
    const scanner = ts.createScanner(99, false, ts.LanguageVariant.Standard, file.text, undefined, token.pos, length)
    for (let kind = scanner.scan(); kind !== ts.SyntaxKind.EndOfFileToken; kind = scanner.scan())
      if (kind === ts.SyntaxKind.MultiLineCommentTrivia || kind === ts.SyntaxKind.SingleLineCommentTrivia)
        yield { text: scanner.getTokenText(), at: scanner.getTokenStart() }
  }
}

/** Every string of a source file with its position, and the parts of templates. */
function* stringsOf(file) {
  for (const token of tokensOf(file, file))
    if (ts.isStringLiteral(token) || ts.isTemplateLiteralToken(token))
      yield { text: token.text, at: token.getStart(file) }
}

function* findBreaches(path, source) {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true)
  const lineAt = (index) => file.getLineAndCharacterOfPosition(index).line + 1
  for (const { text, at } of commentsOf(file)) {
    const words = text.replace(/`[^`]*`/g, '').replace(/^\s*\*+/gm, '')
    yield* findBanned(words, `${path}:${lineAt(at)}`)
    const first = FIRST_WORDS.exec(text.replace(/^\/\*\*\s*(?:\*\s*)?/, ''))
    if (text.startsWith('/**') && first)
      yield `${path}:${lineAt(at)} starts with "${first[0]}"; start with a verb or a noun`
  }
  if (!HAS_SENTENCES.test(path)) return
  for (const { text, at } of stringsOf(file)) {
    yield* findBanned(text, `${path}:${lineAt(at)}`)
    for (const sentence of text.split(/(?<=[.!?])\s+/)) {
      const opening = OPENING.exec(sentence)
      if (opening && !sentence.endsWith('?'))
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

const paths = [...FILES]
for (const tree of TREES) for await (const path of walk(tree)) paths.push(path)
const breaches = []
for (const path of paths) breaches.push(...findBreaches(path, await readFile(join(root, path), 'utf8')))
for (const breach of breaches) console.error(breach)
if (breaches.length > 0) process.exitCode = 1

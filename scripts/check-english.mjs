/**
 * Reads the comments of the folders below and reports words that the project does not use, with what it writes instead. A doc comment
 * starts with a verb or a noun, so that it stands alone in an editor.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('..', import.meta.url))
const CLI = ['src/cli', ...['commands', 'input', 'output', 'service'].map((name) => `src/cli/${name}`)]
const FOLDERS = ['src/host', 'src/protocol', 'src/store', 'src/receiver', 'src/wire', ...CLI]
const FILES = ['answer', 'body', 'check-options', 'express', 'fastify', 'next', 'node', 'web'].map(
  (name) => `adapters/http/${name}.ts`,
)

const BANNED = [
  [/\bgives?\b(?! (?:up|back)\b)/i, 'returns, or says who does what'],
  [/\bwhere\b/i, 'if'],
  [/\bat once\b/i, 'immediately, or concurrently'],
  [/\bof one's own\b/i, 'custom'],
  [/\bsomebody\b/i, 'another process, or who it is'],
  [/\bwhat (?:becomes?|became) of\b/i, 'the outcome of'],
]
const FIRST_WORDS = /^(?:What|How|Why|Who|Whoever|Where|Tells?|Told|The same|Nobody|Nothing|Also)\b/

/** Every comment of a source file with its position. */
function* commentsOf(text) {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, false, ts.LanguageVariant.Standard, text)
  for (let kind = scanner.scan(); kind !== ts.SyntaxKind.EndOfFileToken; kind = scanner.scan())
    if (kind === ts.SyntaxKind.MultiLineCommentTrivia || kind === ts.SyntaxKind.SingleLineCommentTrivia)
      yield { text: scanner.getTokenText(), at: scanner.getTokenStart() }
}

function* findBreaches(path, source) {
  for (const { text, at } of commentsOf(source)) {
    const line = source.slice(0, at).split('\n').length
    const words = text.replace(/`[^`]*`/g, '').replace(/^\s*\*+/gm, '')
    for (const [word, instead] of BANNED) {
      const found = word.exec(words)
      if (found) yield `${path}:${line} has "${found[0]}"; write ${instead}`
    }
    const first = FIRST_WORDS.exec(text.replace(/^\/\*\*\s*(?:\*\s*)?/, ''))
    if (text.startsWith('/**') && first) yield `${path}:${line} starts with "${first[0]}"; start with a verb or a noun`
  }
}

const inFolders = await Promise.all(
  FOLDERS.map(async (folder) => {
    const names = await readdir(join(root, folder))
    return names.filter((name) => name.endsWith('.ts')).map((name) => `${folder}/${name}`)
  }),
)
const breaches = []
for (const path of [...inFolders.flat(), ...FILES])
  breaches.push(...findBreaches(path, await readFile(join(root, path), 'utf8')))
for (const breach of breaches) console.error(breach)
if (breaches.length > 0) process.exitCode = 1

/**
 * Writes `docs/reference/api/` from the doc comments and types of every export: `npx tsx scripts/api-pages.ts`. A test holds the two
 * together.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { ERROR_CODES } from '../src/protocol/errors.ts'
import { type Declaration, DeclarationReader } from './api/declarations.ts'
import { entries } from './entries.ts'

const FOLDER = fileURLToPath(new URL('../docs/reference/api', import.meta.url))

const ABOUT: Readonly<Record<string, string>> = {
  index: 'The receiver, the store in memory, signatures, errors, and the contracts of stores and inboxes.',
  express: 'Express 4.18 and later, 5.',
  fastify: 'Fastify 5.',
  next: 'Next.js, App Router and Pages Router.',
  node: '`node:http` and `node:https`.',
  web: 'Every server that speaks Fetch.',
  redis: 'The store on Redis.',
  postgres: 'The store on Postgres.',
  sqlite: 'The store and the inbox in a SQLite file.',
  bullmq: 'The inbox on BullMQ, on Redis or Postgres.',
  models: 'Schemas of documented records.',
  testing: 'Events, signed deliveries, senders, targets, a clock, and the suites for stores and inboxes.',
  'testing/vitest': 'Matchers for Vitest: import it for its effect. [What they match](../testing.md#matchers).',
  check: 'The checks of any receiver over HTTP.',
  client: "The client of the service's API.",
  emulator: 'The service itself, on loopback.',
  otel: 'Spans and metrics by OpenTelemetry.',
}

/** The page and anchor of each declaration. */
type Places = ReadonlyMap<string, Place>

interface Place {
  readonly page: string
  readonly anchor: string
}

function aboutOf(entry: string): string {
  const about = ABOUT[entry]
  if (about === undefined) throw new Error(`ABOUT does not say what ${specifierOf(entry)} is for`)
  return about
}

const pageOf = (entry: string) => `${entry === 'index' ? 'postern' : entry.replace('/', '-')}.md`
const specifierOf = (entry: string) => (entry === 'index' ? 'postern' : `postern/${entry}`)

/** Returns the text of each page by its file name. */
export function drawApiPages(): ReadonlyMap<string, string> {
  const reader = new DeclarationReader(Object.values(entries))
  const modules = Object.entries(entries).map(([entry, path]) => ({ entry, exported: reader.exportsOf(path) }))
  const places = new Map<string, Place>()
  for (const { entry, exported } of modules)
    for (const [name, { id }] of sorted(exported)) if (!places.has(id)) addPlace(places, id, pageOf(entry), name)

  const pages = new Map<string, string>()
  const rows: string[] = []
  for (const { entry, exported } of modules) {
    const page = pageOf(entry)
    pages.set(page, drawPage(entry, exported, places))
    const links = sorted(exported).map(([name, { id }]) => linkTo(places, id, '', name))
    rows.push(`| [\`${specifierOf(entry)}\`](${page}) | ${aboutOf(entry)} ${links.join(', ')} |`)
  }
  pages.set('README.md', `${HEAD}| import from | exports |\n|---|---|\n${rows.join('\n')}\n`)
  return pages
}

const HEAD = `# Every export

Written from the types and doc comments by \`scripts/api-pages.ts\`. The other pages of the [reference](../README.md) tell how things go
together; this one has each declaration.

`

function drawPage(entry: string, exported: ReadonlyMap<string, Declaration>, places: Places): string {
  const page = pageOf(entry)
  const isHere = (id: string) => places.get(id)?.page === page
  const own = sorted(exported).filter(([, { id }]) => isHere(id))
  const guests = sorted(exported).filter(([, { id }]) => !isHere(id))
  const inner = listInner(
    own.map(([, declaration]) => declaration),
    places,
  )
  const innerPlaces = new Map(places)
  for (const { id, name } of inner) addPlace(innerPlaces, id, page, name)
  const parts = [`# \`${specifierOf(entry)}\``, aboutOf(entry)]
  if (guests.length > 0)
    parts.push(`Also exported here: ${guests.map(([name, { id }]) => linkTo(places, id, page, name)).join(', ')}.`)
  parts.push(...own.map(([name, declaration]) => drawDeclaration(name, declaration, page, innerPlaces)))
  if (inner.length > 0) {
    parts.push('## Types that are not exported', 'The declarations above use them.')
    parts.push(...inner.map((declaration) => `#${drawDeclaration(declaration.name, declaration, page, innerPlaces)}`))
  }
  return `${parts.join('\n\n')}\n`
}

/** Headings that differ in case only get a number, as GitHub counts them. */
function addPlace(places: Map<string, Place>, id: string, page: string, name: string): void {
  const same = [...places.values()].filter(
    (place) => place.page === page && place.anchor.replace(/-\d+$/, '') === name.toLowerCase(),
  )
  places.set(id, { page, anchor: `${name.toLowerCase()}${same.length > 0 ? `-${same.length}` : ''}` })
}

/** What the exports name, directly or through each other, and what no subpath exports. Computed types say nothing to a reader. */
function listInner(exported: readonly Declaration[], places: Places): readonly Declaration[] {
  const found = new Set<Declaration>()
  const queue = [...exported]
  for (const declaration of queue)
    for (const named of declaration.names())
      if (!places.has(named.id) && !found.has(named) && !named.isComputed) {
        found.add(named)
        queue.push(named)
      }
  return [...found].sort((one, other) => compare(one.name, other.name))
}

function drawDeclaration(name: string, declaration: Declaration, page: string, places: Places): string {
  const { texts, docs } = declaration
  const code = `\`\`\`ts\n${texts.join('\n')}\n\`\`\``
  const named = declaration.names().filter(({ id }) => id !== declaration.id && places.has(id))
  const links = named.map(({ id, name: own }) => linkTo(places, id, page, own))
  const parts = [`## ${name}`, ...docs.map(toProse).filter(Boolean), code, ...docs.flatMap(drawTags)]
  if (links.length > 0) parts.push(`Uses ${links.join(', ')}.`)
  return parts.join('\n\n')
}

/** Parameters, results, errors and examples. */
function drawTags({ tags }: ts.JSDoc): readonly string[] {
  const items: string[] = []
  const examples: string[] = []
  for (const tag of tags ?? []) {
    const text = ts.getTextOfJSDocComment(tag.comment) ?? ''
    if (ts.isJSDocParameterTag(tag)) items.push(`- \`${tag.name.getText()}\`: ${prose(text)}`)
    else if (tag.tagName.text === 'returns') items.push(`- returns ${prose(text)}`)
    else if (tag.tagName.text === 'throws') items.push(`- throws ${prose(text)}`)
    else if (tag.tagName.text === 'example') examples.push(`\`\`\`ts\n${text}\n\`\`\``)
    else if (tag.tagName.text !== 'typeParam') throw new Error(`@${tag.tagName.text} is not drawn`)
  }
  return [items.join('\n'), ...examples].filter(Boolean)
}

function toProse(doc: ts.JSDoc): string {
  return prose(ts.getTextOfJSDocComment(doc.comment) ?? '')
}

/** Codes of errors become links. */
function prose(text: string): string {
  return text
    .replace(/\{@link (\w+)\s*\}/g, '`$1`')
    .replace(/`(\w+)`/g, (word, code: string) =>
      Object.hasOwn(ERROR_CODES, code) ? `[${word}](../errors.md#${code})` : word,
    )
}

function linkTo(places: Places, id: string, from: string, name: string): string {
  const place = places.get(id)
  if (place === undefined) throw new Error(`${id} has no place`)
  return `[\`${name}\`](${place.page === from ? '' : place.page}#${place.anchor})`
}

/** Functions first, then constants, classes and types, each by name. */
function sorted(exported: ReadonlyMap<string, Declaration>): readonly (readonly [string, Declaration])[] {
  const order = ['function', 'constant', 'class', 'interface', 'type']
  const rank = ({ kind }: Declaration) => Math.min(order.indexOf(kind), 3)
  return [...exported].sort(([a, one], [b, other]) => rank(one) - rank(other) || compare(a, b))
}

function compare(one: string, other: string): number {
  return one.toLowerCase() < other.toLowerCase() ? -1 : 1
}

if (process.argv[1] === import.meta.filename) {
  for (const file of readdirSync(FOLDER)) rmSync(join(FOLDER, file))
  for (const [file, text] of drawApiPages()) writeFileSync(join(FOLDER, file), text)
}

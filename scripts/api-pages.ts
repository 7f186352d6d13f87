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
  postgres: 'The store and the inbox on Postgres.',
  sqlite: 'The store and the inbox in a SQLite file.',
  bullmq: 'The inbox on BullMQ, in Redis.',
  models: 'Schemas of documented records.',
  testing: 'Events, signed deliveries, senders, targets, a clock, and the suites for stores and inboxes.',
  'testing/vitest': 'Matchers for Vitest: import it for its effect. [What they match](../testing.md#matchers).',
  check: 'The checks of any receiver over HTTP.',
  client: "The client of the service's API.",
  emulator: 'The service itself, on loopback.',
  otel: 'Spans and metrics by OpenTelemetry.',
}

/** The page and anchor of each declaration that has a heading. */
type Places = Map<Declaration, { readonly page: string; readonly anchor: string }>
type Named = readonly (readonly [name: string, declaration: Declaration])[]

const pageOf = (entry: string) => `${entry === 'index' ? 'postern' : entry.replace('/', '-')}.md`
const headOf = (entry: string) => `\`${entry === 'index' ? 'postern' : `postern/${entry}`}\``

/** Returns the text of each page by its file name. */
export function drawApiPages(): ReadonlyMap<string, string> {
  const reader = new DeclarationReader(Object.values(entries))
  const modules = Object.entries(entries).map(([entry, path]) => [entry, sort([...reader.exportsOf(path)])] as const)
  const places: Places = new Map()
  for (const [entry, exported] of modules) addPlaces(places, exported, pageOf(entry))

  const pages = new Map(modules.map(([entry, exported]) => [pageOf(entry), drawPage(entry, exported, places)]))
  const rows = modules.map(([entry, exported]) => {
    const links = exported.map(([name, declaration]) => linkTo(places, declaration, '', name))
    return `| [${headOf(entry)}](${pageOf(entry)}) | ${aboutOf(entry)} ${links.join(', ')} |\n`
  })
  return pages.set('README.md', `${HEAD}| import from | exports |\n|---|---|\n${rows.join('')}`)
}

const HEAD = `# Every export

Written from the types and doc comments by \`scripts/api-pages.ts\`. The other pages of the [documentation](../../README.md) tell how things go
together; this one has each declaration.

`

function drawPage(entry: string, exported: Named, outer: Places): string {
  const page = pageOf(entry)
  const own = exported.filter(([, declaration]) => outer.get(declaration)?.page === page)
  const guests = exported.filter((one) => !own.includes(one))
  const inner = listInner(own, outer)
  const places = new Map(outer)
  addPlaces(places, inner, page)
  const parts = [`# ${headOf(entry)}`, aboutOf(entry)]
  const links = guests.map(([name, declaration]) => linkTo(places, declaration, page, name))
  if (links.length > 0) parts.push(`Also exported here: ${links.join(', ')}.`)
  parts.push(...own.map((one) => `## ${drawDeclaration(one, page, places)}`))
  if (inner.length > 0) parts.push('## Types that are not exported', 'The declarations above use them.')
  parts.push(...inner.map((one) => `### ${drawDeclaration(one, page, places)}`))
  return `${parts.join('\n\n')}\n`
}

function aboutOf(entry: string): string {
  const about = ABOUT[entry]
  if (about === undefined) throw new Error(`ABOUT does not say what ${headOf(entry)} is for`)
  return about
}

/** Headings that differ in case only get a number, as GitHub counts them. What has a place keeps it. */
function addPlaces(places: Places, named: Named, page: string): void {
  const taken = [...places.values()].filter((place) => place.page === page).map(({ anchor }) => anchor)
  for (const [name, declaration] of named) {
    if (places.has(declaration)) continue
    const heading = name.toLowerCase()
    const anchor = taken.includes(heading) ? `${heading}-1` : heading
    if (taken.includes(anchor)) throw new Error(`${page} has three headings "${heading}"`)
    taken.push(anchor)
    places.set(declaration, { page, anchor })
  }
}

/** Types that the exports name, directly or through each other, and that no subpath exports. Computed types mean nothing to a reader. */
function listInner(exported: Named, places: Places): Named {
  const queue = new Set(exported.map(([, declaration]) => declaration))
  for (const declaration of queue)
    for (const named of declaration.names()) if (!places.has(named) && !named.isComputed) queue.add(named)
  const found = [...queue].filter((declaration) => !places.has(declaration))
  return found.map((one) => [one.name, one] as const).sort(([one], [other]) => compare(one, other))
}

function drawDeclaration([name, declaration]: Named[number], page: string, places: Places): string {
  const { texts, docs } = declaration
  const named = declaration.names().filter((one) => one !== declaration && places.has(one))
  const links = named.map((one) => linkTo(places, one, page, one.name))
  const about = docs.map(({ comment }) => prose(comment)).filter(Boolean)
  const parts = [name, ...about, fence(texts.join('\n')), ...docs.flatMap(drawTags)]
  if (links.length > 0) parts.push(`Uses ${links.join(', ')}.`)
  return parts.join('\n\n')
}

/** Parameters, results, errors and examples. */
function drawTags({ tags }: ts.JSDoc): readonly string[] {
  const items: string[] = []
  const examples: string[] = []
  for (const tag of tags ?? []) {
    const name = tag.tagName.text
    if (ts.isJSDocParameterTag(tag)) items.push(`- \`${tag.name.getText()}\`: ${prose(tag.comment)}`)
    else if (name === 'returns' || name === 'throws') items.push(`- ${name} ${prose(tag.comment)}`)
    else if (name === 'example') examples.push(fence(ts.getTextOfJSDocComment(tag.comment) ?? ''))
    else throw new Error(`@${name} is not drawn`)
  }
  return [items.join('\n'), ...examples].filter(Boolean)
}

/** Codes of errors become links. */
function prose(comment: ts.JSDoc['comment']): string {
  const text = ts.getTextOfJSDocComment(comment) ?? ''
  return text
    .replace(/\{@link (\w+)\s*\}/g, '`$1`')
    .replace(/`(\w+)`/g, (word, code: string) =>
      Object.hasOwn(ERROR_CODES, code) ? `[${word}](../errors.md#${code})` : word,
    )
}

function fence(code: string): string {
  return `\`\`\`ts\n${code}\n\`\`\``
}

function linkTo(places: Places, declaration: Declaration, from: string, name: string): string {
  const place = places.get(declaration)
  if (place === undefined) throw new Error(`${name} has no place`)
  return `[\`${name}\`](${place.page === from ? '' : place.page}#${place.anchor})`
}

/** Functions first, then constants, classes and types, each by name. */
function sort(exported: Named): Named {
  const order = ['function', 'constant', 'class']
  const rank = ({ kind }: Declaration) => (order.includes(kind) ? order.indexOf(kind) : order.length)
  return [...exported].sort(([a, one], [b, other]) => rank(one) - rank(other) || compare(a, b))
}

function compare(one: string, other: string): number {
  return one.toLowerCase() < other.toLowerCase() ? -1 : 1
}

if (process.argv[1] === import.meta.filename) {
  for (const file of readdirSync(FOLDER)) rmSync(join(FOLDER, file))
  for (const [file, text] of drawApiPages()) writeFileSync(join(FOLDER, file), text)
}

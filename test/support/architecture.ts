import { posix } from 'node:path'
import { type FileFacts, type Import, readFacts } from './imports.ts'

/** The allowed imports of the files of one part. A name that ends in a slash stands for everything below it. */
interface Floor {
  /** Files of the repository. */
  readonly files?: readonly string[]
  /** Files of which only types may be imported. */
  readonly types?: readonly string[]
  /** Packages and parts of Node. */
  readonly packages?: readonly string[]
  /** Packages and parts of Node of which only types may be imported. */
  readonly packageTypes?: readonly string[]
}

/** The floors, each by its path. If several match a file, the longest counts. */
export type Floors = Readonly<Record<string, Floor>>

export interface Rules {
  readonly floors: Floors
  readonly maxLines: number
  /** The longest functions: plain ones, and those that make an object with methods. */
  readonly maxFunction: { readonly lines: number; readonly factoryLines: number }
  /** Words that no file below this folder may contain, comments included. */
  readonly unspeakable: { readonly below: string; readonly words: RegExp }
}

const FACTORY = /^(create|make|start|open)[A-Z]|(Store|Inbox|Suite)$/

/** Returns every way in which a tree of files (text by path) breaks the rules, one line each. */
export function findBreaches(tree: ReadonlyMap<string, string>, rules: Rules): readonly string[] {
  const breaches: string[] = []
  const edges = new Map<string, readonly string[]>()
  for (const [path, text] of tree) {
    const facts = readFacts(path, text)
    const targets: string[] = []
    for (const reference of facts.imports) {
      const target = resolve(path, reference.specifier)
      if (target !== undefined && !tree.has(target))
        breaches.push(`${path}:${reference.line} imports ${reference.specifier}, which is not a file of the source`)
      else if (!isAllowed(rules.floors, path, reference, target))
        breaches.push(`${path}:${reference.line} must not import ${describe(reference, target)}`)
      if (target !== undefined) targets.push(target)
    }
    edges.set(path, targets)
    breaches.push(...findStyleBreaches(path, text, facts, rules))
  }
  return [...breaches, ...findCycles(edges).map((cycle) => `cycle: ${cycle.join(' -> ')}`)]
}

function findStyleBreaches(path: string, text: string, facts: FileFacts, rules: Rules): readonly string[] {
  const breaches = [
    ...facts.starExports.map((line) => `${path}:${line} has export *`),
    ...facts.defaultExports.map((line) => `${path}:${line} has a default export`),
  ]
  if (floorOf(rules.floors, path) === undefined) breaches.push(`${path} stands on no floor; give it a row in the table`)
  const lines = text.split('\n').length - 1
  if (lines >= rules.maxLines) breaches.push(`${path} has ${lines} lines; fewer than ${rules.maxLines} are wanted`)
  for (const { name, line, length } of facts.functions) {
    const most = FACTORY.test(name) ? rules.maxFunction.factoryLines : rules.maxFunction.lines
    if (length > most) breaches.push(`${path}:${line} has a function of ${length} lines; at most ${most} are wanted`)
  }
  const word = path.startsWith(rules.unspeakable.below) ? rules.unspeakable.words.exec(text)?.[0] : undefined
  if (word !== undefined) breaches.push(`${path} names ${word}, which nothing below ${rules.unspeakable.below} may`)
  return breaches
}

function isAllowed(floors: Floors, path: string, { specifier, isTypeOnly }: Import, target: string | undefined) {
  const { files = [], types = [], packages = [], packageTypes = [] } = floorOf(floors, path) ?? {}
  if (target === undefined) return packages.includes(specifier) || (isTypeOnly && packageTypes.includes(specifier))
  return covers(files, target) || (isTypeOnly && covers(types, target))
}

function floorOf(floors: Floors, path: string): Floor | undefined {
  const [longest] = Object.keys(floors)
    .filter((prefix) => covers([prefix], path))
    .sort((a, b) => b.length - a.length)
  return longest === undefined ? undefined : floors[longest]
}

function covers(names: readonly string[], path: string): boolean {
  return names.some((name) => (name.endsWith('/') ? path.startsWith(name) : path === name))
}

/** Returns the path of a file of the repository; undefined for a package. */
function resolve(from: string, specifier: string): string | undefined {
  return specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : undefined
}

function describe({ specifier, isTypeOnly }: Import, target: string | undefined): string {
  return `${isTypeOnly ? 'types of ' : ''}${target ?? specifier}`
}

/** Returns one cycle for each way back that a depth-first walk meets; none if there is none. */
function findCycles(edges: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const cycles: string[][] = []
  const finished = new Set<string>()
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) cycles.push([...trail.slice(start), path])
    if (start >= 0 || finished.has(path)) return
    for (const next of edges.get(path) ?? []) walk(next, [...trail, path])
    finished.add(path)
  }
  for (const path of edges.keys()) walk(path, [])
  return cycles
}

import type { Row } from '../../emulator/contract.ts'
import { matchType } from '../../wire/match-type.ts'
import { namesOf, OUTCOMES, type Outcome } from './outcome-words.ts'

/** Tests a row by the words of a filter: free text, and `key:value`. A `-` before a word negates it. */
type RowTest = (row: Row) => boolean

interface FilterContext {
  readonly urlOf: (webhook: string) => string
  readonly outcomeOf: (row: Row) => Outcome
  readonly causeOf: (row: Row) => string | undefined
  readonly now: number
  /** Returns true if the body or an answer of a delivery has a text. Without it, `body:` means nothing. */
  readonly hasText?: (delivery: string, text: string) => boolean
}

const STATUSES = ['failed', 'dead', 'retrying', 'pending', 'success']
/** Outcomes by the values of `status:`, which are the words of their column as well. A status stands for all of its outcomes. */
const BY_VALUE = new Map<string, Outcome[]>(STATUSES.map((status) => [status, []]))
for (const outcome of Object.keys(OUTCOMES) as Outcome[]) {
  BY_VALUE.get(OUTCOMES[outcome][2])?.push(outcome)
  for (const name of new Set(namesOf(outcome)))
    if (!STATUSES.includes(name)) BY_VALUE.set(name, [...(BY_VALUE.get(name) ?? []), outcome])
}
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The keys of a filter, each with examples of its values, and the test of one. */
const KEYS: Readonly<Record<string, readonly [string, (row: Row, value: string, context: FilterContext) => boolean]>> =
  {
    status: [
      `${STATUSES.join(', ')}, or a word of the outcomes: handled, ignored, delivered, left, dropped`,
      (row, value, { outcomeOf }) => BY_VALUE.get(value.toLowerCase())?.includes(outcomeOf(row)) === true,
    ],
    type: ['contact.created, contact.*, *.deleted', ({ type }, value) => matchType(value)(type)],
    code: [
      '401, refused, duplicate; several: 401,404',
      ({ last }, value) => last !== null && [last.result, last.code].includes(value.toLowerCase()),
    ],
    webhook: [
      'id, or host or path of the URL: localhost:3000, /hooks',
      ({ webhook }, value, { urlOf }) => webhook === value || listParts(urlOf(webhook)).includes(value.toLowerCase()),
    ],
    account: ['acme', ({ account }, value) => account.toLowerCase() === value.toLowerCase()],
    cause: ['a cause of failures, as “By cause” names it', (row, value, { causeOf }) => causeOf(row) === value],
    body: ['text in the body, or in an answer', ({ id }, value, { hasText }) => hasText?.(id, value) === true],
    since: [
      '10m, 2h, 2025-01-31, 2025-01-31T14:30',
      ({ at }, value, { now }) => Date.parse(at ?? '') >= readFrom(value, now),
    ],
  }

function isMeant(key: string, value: string, { hasText }: FilterContext): boolean {
  if (value === '' || !Object.hasOwn(KEYS, key)) return false
  if (key === 'status') return BY_VALUE.has(value.toLowerCase())
  if (key === 'since') return !Number.isNaN(readFrom(value, 0))
  return key !== 'body' || hasText !== undefined
}

export const FILTER_KEYS: readonly (readonly [string, string])[] = [
  ...Object.entries(KEYS).map(([key, [examples]]) => [`${key}:`, examples] as const),
  ['"a: b"', 'text with blanks or colons'],
  ['-', 'before a key or a text: excludes what matches'],
]

export interface Filter {
  readonly test: RowTest
  readonly unknown: readonly string[]
}

export function readFilter(query: string, context: FilterContext): Filter {
  const words = splitWords(query)
  const tests = words.map((word) => toTest(word, context))
  return {
    test: (row) => tests.every((test) => test === undefined || test(row)),
    unknown: words.filter((_, index) => tests[index] === undefined),
  }
}

function splitWords(query: string): readonly string[] {
  return query.match(/-?(?:\w+:)?"(?:[^"\\]|\\.)*"|\S+/g) ?? []
}

function unquote(word: string): string {
  return word.replace(/\\(["\\])|"/g, '$1')
}

export function readWord(query: string, key: string): string | undefined {
  const word = splitWords(query).find((each) => each.startsWith(`${key}:`))
  return word && unquote(word).slice(key.length + 1)
}

export function listTexts(query: string): readonly string[] {
  return splitWords(query).flatMap((word) => /^-?body:(.+)$/s.exec(unquote(word))?.[1] ?? [])
}

/** A filter with another value of a key, or without the key, even if it was negated. */
export function writeWord(query: string, key: string, value: string | undefined): string {
  const others = splitWords(query).filter((word) => !word.replace(/^-/, '').startsWith(`${key}:`))
  if (value === undefined) return others.join(' ')
  const quoted = `"${value.replace(/["\\]/g, '\\$&')}"`
  return [...others, `${key}:${/[\s"\\,]/.test(value) ? quoted : value}`].join(' ')
}

/** Returns undefined for a word that means nothing. */
function toTest(word: string, context: FilterContext): RowTest | undefined {
  if (word.startsWith('-') && word.length > 1) {
    const test = toTest(word.slice(1), context)
    return test && ((row) => !test(row))
  }
  // A text in quotes and the start of a URL have a colon that follows no key.
  const [, key, text = ''] = /^(?!"|(?:https?|localhost):)(\w+):(.*)$/s.exec(word) ?? []
  if (key === undefined) return matchText(unquote(word).toLowerCase(), context)
  // A list means any of its values; in quotes, a comma is a part of the text.
  const values = text.includes('"') ? [unquote(text)] : text.split(',')
  if (!values.every((value) => isMeant(key, value, context))) return undefined
  return (row) => values.some((value) => KEYS[key]?.[1](row, value, context))
}

const parts = new Map<string, readonly string[]>()

function listParts(url: string): readonly string[] {
  const known = parts.get(url)
  if (known !== undefined || !URL.canParse(url)) return known ?? []
  const { href, origin, host, hostname, port, pathname } = new URL(url.toLowerCase())
  parts.set(url, [href, origin, host, hostname, `:${port}`, pathname, host + pathname])
  return listParts(url)
}

function matchText(wanted: string, { urlOf }: FilterContext): RowTest {
  return ({ id, type, event, account, webhook, last, note, record, reason, inbox }) =>
    [
      ...[type, event, id, account, webhook, urlOf(webhook), last?.result, last?.code],
      ...[note, record, reason?.text, inbox?.reason?.text],
    ]
      .join('\n')
      .toLowerCase()
      .includes(wanted)
}

const DATE = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/

/** A day or a time in milliseconds since 1970, in the zone of the machine unless it names another; NaN if it is none. */
function readTime(text: string): number {
  const day = text.slice(0, 10)
  if (!DATE.test(text) || new Date(day).getUTCDate() !== Number(day.slice(8))) return Number.NaN
  return Date.parse(text === day ? `${text}T00:00` : text)
}

/** A time, or one that is given by its distance from now, as `10m`. */
function readFrom(text: string, now: number): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? []
  return number === undefined ? readTime(text) : now - Number(number) * (UNITS[unit] ?? 0)
}

/** A filter whose times name their zone, so that they mean the same for another reader. */
export function nameZones(query: string): string {
  return splitWords(query)
    .map((word) => {
      const [, key = '', value = ''] = /^(-?since:)([\dT:.-]+)$/.exec(word) ?? []
      const at = /[+-]\d\d:\d\d$/.test(value) ? Number.NaN : readTime(value)
      return Number.isNaN(at) ? word : key + new Date(at).toISOString().replace(/(:00)?\.000/, '')
    })
    .join(' ')
}

import type { Row } from '../../emulator/contract.ts'
import { matchType } from '../../wire/match-type.ts'

/** Tests a row by the words of a filter: free text, and `key:value`. A `-` before a word negates it. */
type RowTest = (row: Row) => boolean

interface FilterContext {
  readonly urlOf: (webhook: string) => string
  readonly statusOf: (row: Row) => string
  readonly causeOf: (row: Row) => string | undefined
  readonly now: number
  /** Returns true if the body or an answer of a delivery has a text. Without it, `body:` means nothing. */
  readonly hasText?: (delivery: string, text: string) => boolean
}

const STATUSES = ['failed', 'dead', 'retrying', 'pending', 'success']
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Makes the test of a value, in lower case and as it is written; undefined if it means nothing. */
type Maker = (wanted: string, context: FilterContext, value: string) => RowTest | undefined

/** The keys of a filter, each with examples of its values. */
const KEYS: Readonly<Record<string, readonly [examples: string, make: Maker]>> = {
  status: [
    STATUSES.join(', '),
    (wanted, { statusOf }) => (STATUSES.includes(wanted) ? (row) => statusOf(row) === wanted : undefined),
  ],
  type: [
    'contact.created, contact.*, *.deleted',
    (wanted) => {
      const isWanted = matchType(wanted)
      return ({ type }) => isWanted(type)
    },
  ],
  code: [
    '401, refused, duplicate; several: 401,404',
    (wanted) => (row) => row.last?.result === wanted || row.last?.code === wanted,
  ],
  webhook: [
    'id, or host or path of the URL: localhost:3000, /hooks',
    (wanted, { urlOf }) =>
      ({ webhook }) =>
        webhook === wanted || isPartOf(urlOf(webhook), wanted),
  ],
  account: ['acme', (wanted) => (row) => row.account.toLowerCase() === wanted],
  cause: [
    'a cause of failures, as “By cause” names it',
    (_, { causeOf }, value) =>
      (row) =>
        causeOf(row) === value,
  ],
  body: ['text in the body, or in an answer', (_, { hasText }, value) => hasText && (({ id }) => hasText(id, value))],
  since: [
    '10m, 2h, 2025-01-31, 2025-01-31T14:30',
    (_, { now }, value) => {
      const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(value) ?? []
      const from = number === undefined ? readTime(value) : now - Number(number) * (UNITS[unit] ?? 0)
      return Number.isNaN(from) ? undefined : (row) => Date.parse(row.at ?? '') >= from
    },
  ],
}

/** The keys of a filter as the help lists them. */
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

/** Removes the quotes around a text, and the backslashes before quotes in it. */
function unquote(word: string): string {
  return word.replace(/\\(["\\])|"/g, '$1')
}

/** The value of a key in a filter; undefined if it has none. */
export function readWord(query: string, key: string): string | undefined {
  const word = splitWords(query).find((each) => each.startsWith(`${key}:`))
  return word && unquote(word).slice(key.length + 1)
}

/** The texts that a filter looks for in bodies and answers. */
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
  const [, make] = (Object.hasOwn(KEYS, key) && KEYS[key]) || []
  // A list means any of its values; in quotes, a comma is a part of the text.
  const values = text.includes('"') ? [unquote(text)] : text.split(',')
  const tests = values.map((value) => (value === '' ? undefined : make?.(value.toLowerCase(), context, value)))
  return tests.includes(undefined) ? undefined : (row) => tests.some((test) => test?.(row))
}

/** Returns true if the text is a URL, or its origin, host or path. */
function isPartOf(url: string, wanted: string): boolean {
  if (!URL.canParse(url)) return false
  const { href, origin, host, hostname, port, pathname } = new URL(url)
  return [href, origin, host, hostname, `:${port}`, pathname, `${host}${pathname}`].some(
    (part) => part.toLowerCase() === wanted,
  )
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

import type { Row } from '../../emulator/contract.ts'
import { matchType } from '../../wire/match-type.ts'

/** Tests a row by the words of a filter: free text, and `key:value`. A `-` before a word negates it. */
type RowTest = (row: Row) => boolean

/** Keys of a filter, with examples of their values. */
export const FILTER_KEYS: readonly (readonly [string, string])[] = [
  ['status:', 'failed, success, pending, retrying'],
  ['type:', 'contact.created, contact.*, *.deleted'],
  ['code:', '401, refused, duplicate'],
  ['webhook:', 'id, or part of the URL'],
  ['account:', 'acme'],
  ['event:', 'id of the event, or part of it'],
  ['body:', 'text in the body, or in an answer'],
  ['since:', '10m, 2h, 2025-01-31, 2025-01-31T14:30'],
  ['until:', 'as since:, and a day counts to its end'],
  ['"a: b"', 'text with blanks or colons'],
  ['-', 'before a key or a text: excludes what matches'],
]

const STATUSES = ['failed', 'success', 'pending', 'retrying']
const DAY_MS = 86_400_000
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS }
/** Start of a text with a colon that is no key. */
const URL_START = /^(https?|localhost):/

interface FilterContext {
  /** Returns the URL of a webhook by its id. */
  readonly urlOf: (webhook: string) => string
  readonly now: number
  /** True to read times without a zone as UTC, as the page then shows them. */
  readonly isUtc: boolean
  /** Returns true if the body or an answer of a delivery has a text. */
  readonly hasText: (delivery: string, text: string) => boolean
}

/** A filter, with the words of it that mean nothing. */
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
  return query.match(/-?(?:\w+:)?"[^"]*"|\S+/g) ?? []
}

function unquote(word: string): string {
  return word.replaceAll('"', '')
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
  return [...others, `${key}:${/\s/.test(value) ? `"${value}"` : value}`].join(' ')
}

/** The result of a delivery so far. It is retried if an attempt has failed and another one follows. */
export function resultOf({ status, attempts }: Row): Row['status'] | 'retrying' {
  return status === 'pending' && attempts > 0 ? 'retrying' : status
}

/** Returns undefined for a word that means nothing. */
function toTest(word: string, context: FilterContext): RowTest | undefined {
  if (word.startsWith('-') && word.length > 1) {
    const test = toTest(word.slice(1), context)
    return test && ((row) => !test(row))
  }
  const text = unquote(word)
  const [, key = '', value = ''] = word.startsWith('"') || URL_START.test(word) ? [] : (/^(\w+):(.*)$/.exec(text) ?? [])
  const wanted = value.toLowerCase()
  if (key === '') return matchText(text.toLowerCase(), context.urlOf)
  if (value === '') return undefined
  switch (key) {
    case 'status':
      if (!STATUSES.includes(wanted)) return undefined
      return (row) => row.status === wanted || resultOf(row) === wanted
    case 'type': {
      const isWanted = matchType(wanted)
      return ({ type }) => isWanted(type)
    }
    case 'code':
      return ({ last }) => last !== null && (last.result === wanted || last.code === wanted)
    case 'webhook':
      return ({ webhook }) => webhook.startsWith(value) || context.urlOf(webhook).toLowerCase().includes(wanted)
    case 'account':
      return ({ account }) => account.toLowerCase() === wanted
    case 'event':
      return ({ event }) => event.includes(value)
    case 'body':
      return ({ id }) => context.hasText(id, value)
    case 'since':
    case 'until': {
      const at = readTime(value, context)
      if (at === undefined) return undefined
      const limit = key === 'until' && /^\d+-\d+-\d+$/.test(value) ? at + DAY_MS : at
      return (row) => Date.parse(row.last?.at ?? row.at) >= limit === (key === 'since')
    }
    default:
      return undefined
  }
}

function matchText(wanted: string, urlOf: (webhook: string) => string): RowTest {
  return ({ id, type, event, account, webhook, last, note }) =>
    [type, event, id, account, webhook, urlOf(webhook), last?.result, last?.code, note].some((text) =>
      text?.toLowerCase().includes(wanted),
    )
}

const DATE = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/

function readTime(value: string, { now, isUtc }: FilterContext): number | undefined {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(value) ?? []
  if (number !== undefined) return now - Number(number) * (UNITS[unit] ?? 0)
  const [whole, time, , , zone] = DATE.exec(value) ?? []
  if (whole === undefined) return undefined
  const day = whole.slice(0, 10)
  if (new Date(day).getUTCDate() !== Number(day.slice(8))) return undefined
  const text = `${whole.replace(' ', 'T')}${time === undefined ? 'T00:00' : ''}${zone === undefined && isUtc ? 'Z' : ''}`
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

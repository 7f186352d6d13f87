import type { Row } from '../../emulator/contract.ts'
import { matchType } from '../../wire/match-type.ts'
import { showExact } from '../text/times.ts'

/** Tests a row by the words of a filter: free text, and `key:value`. A `-` before a word negates it. */
type RowTest = (row: Row) => boolean

/** Keys of a filter, with examples of their values. */
export const FILTER_KEYS: readonly (readonly [string, string])[] = [
  ['status:', 'failed, dead, retrying, pending, success'],
  ['type:', 'contact.created, contact.*, *.deleted'],
  ['code:', '401, refused, duplicate; several: 401,404'],
  ['webhook:', 'id, or a part of the URL: localhost:3000, /hooks'],
  ['account:', 'acme'],
  ['event:', 'id of the event, or part of it'],
  ['record:', 'id of the record'],
  ['cause:', 'a cause of failures, as “By cause” names it'],
  ['body:', 'text in the body, or in an answer'],
  ['since:', '10m, 2h, 2025-01-31, 2025-01-31T14:30'],
  ['until:', 'as since:, and a day counts to its end'],
  ['"a: b"', 'text with blanks or colons'],
  ['-', 'before a key or a text: excludes what matches'],
]

const STATUSES = ['failed', 'dead', 'retrying', 'pending', 'success']
const DAY_MS = 86_400_000
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS }
/** Start of a text with a colon that is no key. */
const URL_START = /^(https?|localhost):/

interface FilterContext {
  /** Returns the URL of a webhook by its id. */
  readonly urlOf: (webhook: string) => string
  readonly statusOf: (row: Row) => string
  readonly causeOf: (row: Row) => string | undefined
  readonly now: number
  /** True to read times without a zone as UTC, as the page then shows them. */
  readonly isUtc: boolean
  /** Returns true if the body or an answer of a delivery has a text. Without it, `body:` means nothing. */
  readonly hasText?: (delivery: string, text: string) => boolean
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
  const text = unquote(word)
  const [, key = '', value = ''] =
    word.startsWith('"') || URL_START.test(word) ? [] : (/^(\w+):(.*)$/s.exec(text) ?? [])
  if (key === '') return matchText(text.toLowerCase(), context.urlOf)
  // A list means any of its values; in quotes, a comma is a part of the text.
  const values = word.includes('"') ? [value] : value.split(',')
  const tests = values.map((each) => (each === '' ? undefined : toValueTest(key, each, context)))
  return tests.includes(undefined) ? undefined : (row) => tests.some((test) => test?.(row))
}

function toValueTest(key: string, value: string, context: FilterContext): RowTest | undefined {
  const wanted = value.toLowerCase()
  switch (key) {
    case 'status':
      return STATUSES.includes(wanted) ? (row) => context.statusOf(row) === wanted : undefined
    case 'type': {
      const isWanted = matchType(wanted)
      return ({ type }) => isWanted(type)
    }
    case 'code':
      return ({ last }) => last !== null && (last.result === wanted || last.code === wanted)
    case 'webhook':
      return ({ webhook }) => webhook === value || hasPart(context.urlOf(webhook).toLowerCase(), wanted)
    case 'account':
      return ({ account }) => account.toLowerCase() === wanted
    case 'event':
      return ({ event }) => event.includes(value)
    case 'record':
      return ({ record }) => record === value
    case 'cause':
      return (row) => context.causeOf(row) === value
    case 'body':
      return context.hasText && (({ id }) => context.hasText?.(id, value) === true)
    case 'since':
    case 'until': {
      const at = readTime(value, context)
      if (at === undefined) return undefined
      const limit = key === 'until' && DAY.test(value) ? at + DAY_MS : at
      return (row) => Date.parse(row.at ?? '') >= limit === (key === 'since')
    }
    default:
      return undefined
  }
}

/** Returns true if a URL has a whole part: `/echo` is a part of neither `/echo2` nor `/echo/2`. */
function hasPart(url: string, part: string): boolean {
  const before = /^\w/.test(part) ? '(?<!\\w)' : ''
  const after = /\w$/.test(part) ? (part.startsWith('/') ? '(?![\\w/.-])' : '(?![\\w-])') : ''
  return new RegExp(before + part.replace(/\W/g, '\\$&') + after).test(url)
}

function matchText(wanted: string, urlOf: (webhook: string) => string): RowTest {
  return ({ id, type, event, account, webhook, last, note, record, reason, inbox }) =>
    [
      type,
      event,
      id,
      account,
      webhook,
      urlOf(webhook),
      last?.result,
      last?.code,
      note,
      record,
      reason?.text,
      inbox?.reason?.text,
    ].some((text) => text?.toLowerCase().includes(wanted))
}

const DAY = /^\d{4}-\d\d-\d\d$/
const DATE = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/

function readTime(value: string, { now, isUtc }: Pick<FilterContext, 'now' | 'isUtc'>): number | undefined {
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

/** A filter whose times name their zone, so that they mean the same for another reader. */
export function nameZones(query: string, isUtc: boolean): string {
  return splitWords(query)
    .map((word) => {
      const [, key = '', value = ''] = /^(-?(?:since|until):)(.*)$/.exec(word) ?? []
      const at = DATE.test(value) && !/(Z|[+-]\d\d:\d\d)$/.test(value) ? readTime(value, { now: 0, isUtc }) : undefined
      if (at === undefined) return word
      const end = key.endsWith('until:') && DAY.test(value) ? at + DAY_MS : at
      return `${key}${showExact(new Date(end).toISOString(), isUtc)
        .replace(' ', 'T')
        .replace(/(:00)?\.000/, '')
        .replace(' ', '')}`
    })
    .join(' ')
}

import type { Row } from '../../emulator/contract.ts'

/** Tests a row by the words of a filter: free text, and `key:value`. A `-` before a word negates it. */
export type RowTest = (row: Row) => boolean

/** Keys of a filter, with examples of their values. */
export const FILTER_KEYS: readonly (readonly [string, string])[] = [
  ['status:', 'failed, success, pending, retrying'],
  ['type:', 'contact.created, contact.*, *.deleted'],
  ['code:', '401, refused, duplicate'],
  ['webhook:', 'id, or part of the URL'],
  ['account:', 'acme'],
  ['event:', 'id of the event, or part of it'],
  ['since:', '10m, 2h, or a date'],
  ['-', 'before a key or a text: excludes what matches'],
]

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses a filter. @param urlOf returns the URL of a webhook by its id */
export function readFilter(query: string, urlOf: (webhook: string) => string, now: number): RowTest {
  const words = query.match(/-?(?:\w+:)?"[^"]*"|\S+/g) ?? []
  const tests = words.map((word) => toTest(word.replaceAll('"', ''), urlOf, now))
  return (row) => tests.every((test) => test(row))
}

function toTest(word: string, urlOf: (webhook: string) => string, now: number): RowTest {
  if (word.startsWith('-') && word.length > 1) {
    const test = toTest(word.slice(1), urlOf, now)
    return (row) => !test(row)
  }
  const [, key = '', value = ''] = /^(\w+):(.*)$/.exec(word) ?? []
  const wanted = value.toLowerCase()
  switch (value === '' ? '' : key) {
    case 'status':
      return (row) => row.status === wanted || (wanted === 'retrying' && row.status === 'pending' && row.attempts > 0)
    case 'type':
      return matchType(wanted)
    case 'code':
      return ({ last }) => last !== null && (last.result === wanted || last.code === wanted)
    case 'webhook':
      return ({ webhook }) => webhook.startsWith(value) || urlOf(webhook).toLowerCase().includes(wanted)
    case 'account':
      return ({ account }) => account.toLowerCase() === wanted
    case 'event':
      return ({ event }) => event.includes(value)
    case 'since': {
      const from = readSince(value, now)
      return ({ at, last }) => from === undefined || Date.parse(last?.at ?? at) >= from
    }
    default:
      return matchText(word.toLowerCase(), urlOf)
  }
}

function matchType(wanted: string): RowTest {
  const parts = wanted.split('*')
  if (parts.length === 1)
    return ({ type }) => type.toLowerCase() === wanted || type.toLowerCase().startsWith(`${wanted}.`)
  const [start = '', end = ''] = [parts[0], parts.at(-1)]
  return ({ type }) => type.toLowerCase().startsWith(start) && type.toLowerCase().endsWith(end)
}

function matchText(wanted: string, urlOf: (webhook: string) => string): RowTest {
  return ({ id, type, event, account, webhook, last, note }) =>
    [type, event, id, account, webhook, urlOf(webhook), last?.result, last?.code, note].some((text) =>
      text?.toLowerCase().includes(wanted),
    )
}

function readSince(value: string, now: number): number | undefined {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(value) ?? []
  if (number !== undefined) return now - Number(number) * (UNITS[unit] ?? 0)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : at
}

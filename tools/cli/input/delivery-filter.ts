import { InvalidArgumentError } from 'commander'
import type { Delivery } from '../../../src/client/client.ts'
import { ACTIONS } from '../../../src/protocol/events.ts'
import { findMeantType } from '../../../src/protocol/find-meant-type.ts'
import { parseTime } from '../../../src/protocol/iso-time.ts'
import { collectWords, tryDuration } from './read-option.ts'

/** Returns a filter for events of these types. `*` stands for any text: `contact.*`, `*.deleted`. Undefined passes all events. */
export function isOfTypes(types: readonly string[] | undefined): (of: Pick<Delivery, 'eventType'>) => boolean {
  if (types === undefined) return () => true
  const patterns = types.map((type) => new RegExp(`^${type.split('*').map(escapeRegExp).join('.*')}$`, 's'))
  return ({ eventType = '' }) => patterns.some((pattern) => pattern.test(eventType))
}

/** Reads the types of a filter. One that matches nothing is refused: the command would seem to have nothing to do. */
export function collectTypes(value: string, before: readonly string[] = []): readonly string[] {
  const types = collectWords(value)
  for (const type of types) {
    if (type === '') throw new InvalidArgumentError('One of the types is empty. Is its variable set?')
    const stray = /[\s\p{C};"'`\\|^$?!()[\]{}<>]/u.exec(type)?.[0]
    if (stray !== undefined)
      throw new InvalidArgumentError(
        `No type has ${stray.trim() === '' ? 'a blank' : stray} in it. Write types with commas between them: contact.*,sync.failed.`,
      )
    const stem = type.replace(/\.\*$/, '')
    const meant = stem.replace(/[:/_-]\*$/, '').includes('*') ? findMeantAction(type) : findMeantType(type)
    if (meant !== undefined) throw new InvalidArgumentError(`Did you mean ${meant}? If it is intended, write ${stem}*.`)
  }
  return [...before, ...types]
}

/** Returns the pattern that was meant by one such as `*.delete`; undefined if this one may be correct. */
function findMeantAction(pattern: string): string | undefined {
  const word = /^\*[.:/_-]/.test(pattern) ? pattern.slice(2).toLowerCase() : ''
  const meant = word.length < 5 ? undefined : ACTIONS.find((action) => action.startsWith(word))
  return meant === undefined || pattern === `*.${meant}` ? undefined : `*.${meant}`
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.|?+()[\]{}-]/g, '\\$&')
}

/** Reads a point in time: a duration ago, `24h`, or a date. */
export function readSince(value: string): Date {
  const length = tryDuration(value)
  return length === undefined ? readDate(value) : new Date(Date.now() - length)
}

function readDate(value: string): Date {
  const date = new Date(parseTime(value))
  if (Number.isNaN(date.getTime()))
    throw new InvalidArgumentError('It must be a duration, 24h or 7d, or a date: 2025-01-31T12:00:00Z.')
  if (date.getTime() > Date.now())
    throw new InvalidArgumentError('That is in the future. A date without a time begins at midnight in UTC.')
  return date
}

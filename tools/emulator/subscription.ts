import { SERVICE_EVENT_TYPES } from '../../src/protocol/events.ts'
import { findLikeType } from '../../src/protocol/find-meant-type.ts'
import { modelOf } from '../wire/model-of.ts'
import type { Assumed } from './assumptions.ts'
import { Refusal } from './refusal.ts'

const NAMES = /^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$/
const WILDCARD = /^(\*|[A-Za-z][A-Za-z0-9_]*\.\*|\*\.[A-Za-z][A-Za-z0-9_]*)$/

export function isServiceEventType(type: string): boolean {
  return SERVICE_EVENT_TYPES.some((known) => known === type) || modelOf(type) !== undefined
}

/** Checks the types of a subscription, and returns them as they are stored. Calls `warn` for types that will never fire. */
export function checkSubscription(
  types: readonly string[],
  assumed: Assumed,
  warn: (message: string) => void,
): readonly string[] {
  if (types.length === 0 && assumed.emptyEvents === 'refused')
    throw new Refusal('invalid', 'events must name a type at least')
  const distinct = [...new Set(types)]
  for (const type of distinct) {
    const meant = findLikeType(type)
    if (meant !== undefined) warn(`"${type}" is not a type of the service; did you mean ${meant}?`)
    if (isServiceEventType(type)) continue
    if (WILDCARD.test(type)) {
      if (assumed.wildcards === 'literal')
        warn(`the service does not take "${type}" as a pattern, and no event type equals it (A28)`)
    } else if (!NAMES.test(type) || assumed.unknownTypes === 'refused')
      throw new Refusal(
        'invalid',
        `events: ${JSON.stringify(type)} is no type of event; write {model}.created, .updated or .deleted`,
      )
    else if (meant === undefined)
      warn(`"${type}" is not among the types of the service: it fires only when it is triggered by hand (A27)`)
  }
  return distinct
}

/** Returns true if a subscription includes this type. */
export function isSubscribed(types: readonly string[], type: string, wildcards: Assumed['wildcards']): boolean {
  if (types.includes(type)) return true
  return wildcards === 'matched' && types.some((pattern) => WILDCARD.test(pattern) && matches(pattern, type))
}

function matches(pattern: string, type: string): boolean {
  if (pattern === '*') return true
  return pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : type.endsWith(pattern.slice(1))
}

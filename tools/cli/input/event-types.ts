import { ACTIONS, NAMED_MODELS, NAMED_TYPES, SERVICE_EVENT_TYPES } from '../../../src/protocol/events.ts'
import { findMeantType } from '../../../src/protocol/find-meant-type.ts'
import { MAX_TYPE_LENGTH } from '../../../src/protocol/schedule.ts'
import { modelOf } from '../../wire/model-of.ts'
import { usageError } from '../io.ts'

export function typesOf(model: string): readonly string[] {
  return ACTIONS.map((action) => `${model}.${action}`)
}

export const KNOWN_TYPES: readonly string[] = [...NAMED_MODELS.flatMap(typesOf), ...SERVICE_EVENT_TYPES]
/**
 * Ends the command if a type is probably misspelt. Any model may exist, but a name that differs from `contact` in one letter is more likely
 * a typo.
 *
 * @param isAny true if the user allows any type
 */
export function mustBeType(type: string, isAny: boolean): void {
  if (type === '' || type.length > MAX_TYPE_LENGTH)
    throw usageError(`An event type has 1 to ${MAX_TYPE_LENGTH} characters.`)
  if (isAny || KNOWN_TYPES.includes(type)) return
  const meant = findMeantType(type)
  if (meant === undefined && modelOf(type) !== undefined) return
  const types = `{model}.created, {model}.updated, {model}.deleted, ${SERVICE_EVENT_TYPES.join(', ')}`
  const advice = meant === undefined ? `The service names ${types}.` : `Did you mean ${meant}?`
  throw usageError(
    `${JSON.stringify(type)} is not a type of the service. ${advice} If the type is intended, add --any-type.`,
  )
}

/**
 * Returns the types of a subscription. `contact.*` stands for the three types of a model, `sync.*` for those that the service documents:
 * the service has no wildcards.
 *
 * @param isAny true if the user allows any type
 */
export function readSubscribedTypes(names: readonly string[], isAny: boolean): readonly string[] {
  const types = names.flatMap((name) => {
    if (!name.endsWith('.*')) return [name]
    const ofService = SERVICE_EVENT_TYPES.filter((type) => type.startsWith(name.slice(0, -1)))
    return ofService.length > 0 ? ofService : typesOf(name.slice(0, -2))
  })
  for (const type of types) if (!NAMED_TYPES.includes(type)) mustBeType(type, isAny)
  return [...new Set(types)]
}

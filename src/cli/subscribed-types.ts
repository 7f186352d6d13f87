import { SERVICE_EVENT_TYPES } from '../protocol/events.ts'
import { mustBeType, typesOf } from './build-event.ts'

/**
 * The types that a webhook asks for. The service has no wildcards: `contact.*` is short for the three of a model here, `sync.*` for what
 * the service names.
 *
 * @param isAny types are taken as they stand
 */
export function readSubscribedTypes(names: readonly string[], isAny: boolean): readonly string[] {
  const types = names.flatMap((name) => {
    if (!name.endsWith('.*')) return [name]
    const ofService = SERVICE_EVENT_TYPES.filter((type) => type.startsWith(name.slice(0, -1)))
    return ofService.length > 0 ? ofService : typesOf(name.slice(0, -2))
  })
  for (const type of types) mustBeType(type, isAny)
  return [...new Set(types)]
}

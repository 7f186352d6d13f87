import { isPlain } from './copy-plain.ts'
import { type EventSchemas, findSpelling, type ModelSchemas, NAMED_MODELS, NAMED_TYPES, splitType } from './events.ts'
import { findNearest } from './nearest.ts'
import type { OptionChecker } from './option-checker.ts'
import { findSpelt } from './pattern.ts'
import type { StandardSchema } from './schema.ts'
import type { Sender } from './sender.ts'
import { show } from './show.ts'

/** Returns the schemas of an option by key, or throws `option_invalid`. */
export function checkSchemas(
  check: OptionChecker,
  option: string,
  schemas: ModelSchemas | EventSchemas,
  checkKey: (check: OptionChecker, key: string) => void,
): ReadonlyMap<string, StandardSchema> {
  if (Object(schemas)['~standard'] !== undefined)
    throw check.invalid(`${option} is a schema; give it with its key: ${option}: { '…': schema }.`)
  if (!isPlain(schemas) || Array.isArray(schemas))
    throw check.invalid(`${option} is ${show(schemas)}; give a plain object of schemas by key.`)
  const checked = new Map<string, StandardSchema>()
  for (const [key, schema] of Object.entries(schemas)) {
    checkKey(check, key)
    if (typeof schema?.['~standard']?.validate !== 'function')
      throw check.invalid(
        schema === undefined
          ? `${option}.${key} is undefined. If it is imported from a module that imports this one, it does not exist yet.`
          : `${option}.${key} is not a schema. Give one of zod from 3.24, valibot from 1, arktype from 2, or any other that follows Standard Schema, or record<YourType>() for types without checks.`,
      )
    checked.set(key, schema)
  }
  return checked
}

export function checkModelKey(check: OptionChecker, key: string): void {
  if (key === '' || /[.*\s]/.test(key))
    throw check.invalid(
      `"${key}" cannot be a model key: it is the part before the dot in "contact.created", without dot, star or blank.`,
    )
  const spelling = findSpelling(key)
  if (spelling !== undefined) throw check.invalid(`the service spells the model "${key}" as ${spelling}.`)
}

/** Checks an event type of a sender whose types are plain text. */
export function checkPlainType(check: OptionChecker, type: string, sender: Sender<unknown>): void {
  if (type === '' || type.includes('*'))
    throw check.invalid(`"${type}" cannot be an event type: it reads as a pattern.`)
  const spelt = findSpelt(type, sender)
  if (spelt !== undefined) throw check.invalid(`"${type}" is no event type of ${sender.name}. Did you mean "${spelt}"?`)
}

export function checkEventType(check: OptionChecker, type: string): void {
  const model = splitType(type)?.model
  if (model !== undefined)
    throw check.invalid(
      `events.${type} is an event about a record: declare its model instead, models: { ${model}: … }.`,
    )
  if (type === '' || type.split('.')[0] === '*' || type.endsWith('.*'))
    throw check.invalid(`"${type}" cannot be an event type: it reads as a pattern.`)
  if (/\s/.test(type)) throw check.invalid(`"${type}" cannot be an event type: it has a blank.`)
  const named = NAMED_MODELS.includes(type) ? type : findSpelling(type)
  if (named !== undefined) throw check.invalid(`events.${type} is a model: declare it as one, models: { ${named}: … }.`)
  const nearest = findNearest(type, NAMED_TYPES, 1)
  if (nearest !== undefined && nearest !== type)
    throw check.invalid(`"${type}" is no event type of the service. Did you mean "${nearest}"?`)
}

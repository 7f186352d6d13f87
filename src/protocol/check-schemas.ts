import { isPlain } from './copy-plain.ts'
import { type EventSchemas, type ModelSchemas, splitType } from './events.ts'
import type { OptionChecker } from './option-checker.ts'
import type { StandardSchema } from './schema.ts'
import { show } from './show.ts'

/** Returns the schemas of an option by key, or throws `option_invalid`. */
export function checkSchemas(
  check: OptionChecker,
  option: string,
  schemas: ModelSchemas | EventSchemas,
  checkKey: (check: OptionChecker, key: string) => void,
): ReadonlyMap<string, StandardSchema> {
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
  if (key === '' || key.includes('.') || key.includes('*'))
    throw check.invalid(
      `"${key}" cannot be a model key: it is the part before the dot in "contact.created", without dot or star.`,
    )
}

/** Checks an event type of a sender whose types are plain text. */
export function checkPlainType(check: OptionChecker, type: string): void {
  if (type === '' || type.includes('*'))
    throw check.invalid(`"${type}" cannot be an event type: it reads as a pattern.`)
}

export function checkEventType(check: OptionChecker, type: string): void {
  const model = splitType(type)?.model
  if (model !== undefined)
    throw check.invalid(
      `events.${type} is an event about a record: declare its model instead, models: { ${model}: … }.`,
    )
  if (type === '' || type.split('.')[0] === '*' || type.endsWith('.*'))
    throw check.invalid(`"${type}" cannot be an event type: it reads as a pattern.`)
}

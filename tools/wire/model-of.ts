import { splitType } from '../../src/protocol/events.ts'

/** Pattern of a model key, as in `{model}.created`. */
export const MODEL_KEY: RegExp = /^[A-Za-z][A-Za-z0-9_]*$/

/** Returns the model of a type such as `contact.created`; undefined if the type is not about a record. */
export function modelOf(type: string): string | undefined {
  const model = splitType(type)?.model
  return model !== undefined && MODEL_KEY.test(model) ? model : undefined
}

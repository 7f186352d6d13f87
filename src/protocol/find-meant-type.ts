import { ACTIONS, NAMED_MODELS, NAMED_TYPES, SERVICE_EVENT_TYPES, splitType } from './events.ts'
import { findNearest, findSlip } from './nearest.ts'

/** Usual models that differ in a letter from one that the service names. */
const UNLIKE = ['contract']

function toSingular(word: string): string {
  return word.replace(/ies$/i, 'y').replace(/s$/i, '')
}

/** Returns the model that was probably meant by a plural or misspelt one; undefined if this one may be correct. */
export function findMeantModel(model: string, known: readonly string[] = NAMED_MODELS): string | undefined {
  const singular = toSingular(model)
  if (known.includes(model) || UNLIKE.includes(singular) || /\d/.test(model)) return undefined
  const limit = model.length < 5 ? 0 : model.length < 9 ? 1 : 2
  return findNearest(singular, known, limit) ?? findNearest(model, known, limit)
}

/** Patterns for the service's types of one beginning, such as `finance.payment.*`. */
const GROUPS = SERVICE_EVENT_TYPES.map((type) => type.replace(/[^.]*$/, '*'))
/** Types and patterns that the service's events match. */
const NAMED = [
  ...NAMED_TYPES,
  ...GROUPS,
  ...NAMED_MODELS.map((model) => `${model}.*`),
  ...ACTIONS.map((action) => `*.${action}`),
]

function isAction(word: string | undefined): boolean {
  return ACTIONS.some((action) => action === word)
}

/**
 * Returns the type that was probably meant by a misspelt one, or by a model alone, or the pattern by one such as `contacts.*`; undefined if
 * this one may be correct.
 *
 * @param known types besides those that the service names
 */
export function findMeantType(type: string, known: readonly string[] = []): string | undefined {
  if (NAMED_TYPES.includes(type) || known.includes(type)) return undefined
  const spelt = type.replace(/[:/_-]/g, '.')
  const named = spelt === type ? undefined : (findMeantType(spelt, known) ?? spelt)
  if (named !== undefined && NAMED.includes(named)) return named
  const [word = '', ...rest] = type.split('.')
  if (isAction(word) && rest.length < 2 && !isAction(rest[0])) return `${rest[0] ?? '*'}.${word}`
  const models = [...NAMED_MODELS, ...known.flatMap((each) => splitType(each)?.model ?? [])]
  if (type === `${word}.*`) {
    const group = findMeantModel(word, [...models, ...GROUPS.map((each) => each.replace(/\..*/, ''))])
    const whole = GROUPS.find((each) => each.endsWith(`.${type}`))
    return whole ?? (group && `${group}.*`)
  }
  const model = findMeantModel(word, models)
  if (splitType(type) !== undefined) return model && [model, ...rest].join('.')
  if (rest.length === 0 && (model !== undefined || models.includes(word))) return `${model ?? word}.created`
  const ofModel = ACTIONS.map((action) => `${model ?? word}.${action}`)
  const whole = SERVICE_EVENT_TYPES.find((each) => each.endsWith(`.${type}`))
  return whole ?? findNearest(type, [...known, ...SERVICE_EVENT_TYPES, ...ofModel])
}

/** Returns the model or the type of the service that a model resembles, such as `financeInvoice` for `invoice`. There may be both. */
export function findLike(model: string): string | undefined {
  if (NAMED_MODELS.includes(model)) return undefined
  return (
    findSlip(model, NAMED_MODELS) ??
    NAMED_MODELS.find((named) => toBare(named) === toBare(model)) ??
    SERVICE_EVENT_TYPES.find((type) => type.split('.').includes(toSingular(model).toLowerCase()))
  )
}

/** Returns a model without the module that it belongs to: `invoice` of `financeInvoice`. */
function toBare(model: string): string {
  return toSingular(model.replace(/^(finance|sales|crm)(?=[A-Z])/, '')).toLowerCase()
}

/**
 * Returns the type that was probably meant, also by one of a model that resembles a documented one, such as `invoice.created`. Both may be
 * correct.
 */
export function findLikeType(type: string, known: readonly string[] = []): string | undefined {
  const { model, action } = splitType(type) ?? {}
  const isKnown = model === undefined || known.some((each) => splitType(each)?.model === model)
  const like = isKnown ? undefined : findLike(model)
  return findMeantType(type, known) ?? (like === undefined || like.includes('.') ? like : `${like}.${action}`)
}

import { ConfigurationError } from './errors.ts'
import { ACTIONS, type Action, mayBeModel, NAMED_MODELS, SERVICE_EVENT_TYPES } from './events.ts'
import { findLike } from './find-meant-type.ts'
import { findNearest, findSlip } from './nearest.ts'
import type { Sender } from './sender.ts'
import { show } from './show.ts'

/** A parsed pattern of `.on()`. */
export type EventPattern =
  | { readonly kind: 'all'; readonly text: string }
  | { readonly kind: 'action'; readonly text: string; readonly action: Action }
  | { readonly kind: 'model'; readonly text: string; readonly model: string }
  | { readonly kind: 'prefix'; readonly text: string; readonly prefix: string }
  | ({ readonly kind: 'type'; readonly text: string } & About)

/** Model and action of a type, if it is about a record. */
export interface About {
  readonly model: string | undefined
  readonly action: Action | undefined
}

/** The types that are about no record, such as all of a sender other than the CRM service. */
export const NO_RECORD: About = { model: undefined, action: undefined }

interface Keys {
  has(key: string): boolean
  keys(): Iterable<string>
}

/**
 * Reads a pattern.
 *
 * @param models the declared models; undefined if any model is taken
 * @param events the declared event types that are about no model
 * @throws ConfigurationError `pattern_invalid` for one that no event can match
 */
export function parsePattern(text: unknown, models: Keys | undefined, events: Keys): EventPattern {
  if (typeof text !== 'string' || text === '')
    throw invalid(`.on() takes a pattern, or a list of patterns, such as 'contact.created', not ${show(text)}.`)
  if (text === '*') return { kind: 'all', text }
  if (events.has(text)) return { kind: 'type', text, model: undefined, action: undefined }
  const dot = text.indexOf('.')
  const [model, rest] = [text.slice(0, dot), text.slice(dot + 1)]
  const action = ACTIONS.find((candidate) => candidate === rest)
  if (dot > 0 && model === '*' && action !== undefined) return { kind: 'action', text, action }
  if (
    dot > 0 &&
    (action !== undefined || rest === '*') &&
    (models === undefined ? mayBeModel(model) : !model.includes('*'))
  ) {
    if (!models?.has(model)) refuseServiceWildcard(text, model)
    if (models !== undefined && !models.has(model))
      throw invalid(
        `"${text}" names the model "${model}", which is not declared. If it is misspelt: declared are ${list(models.keys())}. If it is not: add it, models: { ${model}: … }.`,
      )
    return action === undefined ? { kind: 'model', text, model } : { kind: 'type', text, model, action }
  }
  if (SERVICE_EVENT_TYPES.some((type) => type === text))
    return { kind: 'type', text, model: undefined, action: undefined }
  const nearest = findPattern(text, models, events)
  const meant = nearest === undefined ? OF_OTHERS : ` Did you mean '${nearest}'?`
  throw invalid(
    `No event can match "${text}".${meant} Patterns are a model and an action ('contact.created', 'contact.*', '*.deleted'; actions are ${list(ACTIONS)}), '*', one of ${list(SERVICE_EVENT_TYPES)}, or a type declared in the events option (${list(events.keys())}; to declare this one: events: { '${text}': … }).`,
  )
}

/** Their types look like patterns. */
const OF_OTHERS = ' Events of GitHub, Stripe, Shopify and others come to receiveFrom(sender, { secret }).'

/** Returns a warning of a type that differs in a letter from a declared one. */
export function findMisspelt({ text }: EventPattern, events: Keys): string | undefined {
  const nearest = findSlip(text, events.keys())
  if (nearest === undefined || nearest === text) return undefined
  return `The pattern "${text}" is not among the events option. Did you mean '${nearest}'? If it is intended, declare it as well.`
}

/** Returns a warning of a pattern whose model is not declared, and resembles what the service names. */
export function findDoubt(pattern: EventPattern): string | undefined {
  const model = 'model' in pattern ? (pattern.model ?? '') : ''
  const meant = model === '' ? undefined : findLike(model)
  if (meant === undefined) return undefined
  return `The pattern "${pattern.text}" names a model "${model}". Did you mean '${meant}'? If there is such a model, declare it: models: { ${model}: … }.`
}

/** Finds the pattern that was probably meant. */
function findPattern(text: string, models: Keys | undefined, events: Keys): string | undefined {
  const hasDot = text.includes('.')
  const words = text.trim().replace(/(?<=[a-z])(?=[A-Z])/g, '.')
  const spelt = hasDot ? text.replace(/[\s\p{C}]+/gu, '') : words.replace(/[\s:/_-]+/g, '.')
  // A word alone is no model: of "created", nothing would be about one.
  const own = hasDot ? [spelt.replace(/\..*/, '')] : []
  const keys = models === undefined ? [...NAMED_MODELS, ...own] : [...models.keys()]
  const ofModels = keys.flatMap((key) => [...ACTIONS, '*'].map((action) => `${key}.${action}`))
  const known = [...ofModels, ...ACTIONS.map((action) => `*.${action}`), ...SERVICE_EVENT_TYPES, ...events.keys()]
  const nearest = findNearest(spelt, known)
  if (nearest !== undefined) return nearest === text ? undefined : nearest
  const ends = new Map(SERVICE_EVENT_TYPES.map((type) => [type.replace(/^finance\./, ''), type]))
  return ends.get(findNearest(spelt, ends.keys()) as never) ?? known.find((type) => spelt.endsWith(`.${type}`))
}

/**
 * Reads a pattern of a sender whose types are plain text: a type, `*`, or `issues.*` for the types that begin with `issues.`.
 *
 * @param events the declared types
 * @throws ConfigurationError `pattern_invalid`
 */
export function parsePlainPattern(text: unknown, events: Keys, sender: Sender<unknown>): EventPattern {
  if (text === '*') return { kind: 'all', text }
  if (typeof text !== 'string' || !/^[^*]+?([./]\*)?$/.test(text))
    throw invalid(
      `.on() takes a type, such as 'issues.opened', the beginning of types, 'issues.*', or '*', not ${show(text)}.`,
    )
  if (LIST.test(text)) throw invalid(`.on() takes several types as a list, not as one text: "${text}".`)
  const meant = findSpelt(text, sender) ?? [...events.keys()].find((type) => type !== text && fold(type) === fold(text))
  if (meant !== undefined) throw invalid(`No event of ${sender.name} can match "${text}". Did you mean '${meant}'?`)
  return text.endsWith('*') ? { kind: 'prefix', text, prefix: text.slice(0, -1) } : { kind: 'type', text, ...NO_RECORD }
}

/** Types with commas between them. */
const LIST = /^[^\s,]+[./][^\s,]+(\s*,\s*[^\s,]+[./][^\s,]+)+$/

/** Returns text that is the same for all spellings of a type. */
export function fold(type: string): string {
  return type.toLowerCase().replace(/[\s._:/-]+/g, '')
}

/** Returns how a sender spells a type, or the beginning of types, if it spells it otherwise. No type has blanks or quotes around it. */
export function findSpelt(type: string, sender: Pick<Sender, 'spellType'>): string | undefined {
  const trimmed = type.replace(/^[\s"'`]+|[\s"'`]+$|\p{C}/gu, '')
  const spelt = sender.spellType?.(trimmed) ?? trimmed
  return spelt === type ? undefined : spelt
}

/** Refuses `finance.*` and similar: without such a model it can only be meant for event types that it does not match. */
function refuseServiceWildcard(text: string, model: string): void {
  const types = SERVICE_EVENT_TYPES.filter((type) => type.startsWith(`${model.toLowerCase()}.`))
  if (types.length === 0) return
  throw invalid(
    `"${text}" would match only events of a model "${model}", which is not declared; the service's types that begin like this are ${list(types)}. Register each by its full name.`,
  )
}

/** Returns whether a pattern matches an event type. */
export function takes(pattern: EventPattern, type: string, { model, action }: About): boolean {
  if (pattern.kind === 'action') return pattern.action === action
  if (pattern.kind === 'model') return pattern.model === model
  if (pattern.kind === 'prefix') return type.startsWith(pattern.prefix)
  return pattern.kind === 'all' || pattern.text === type
}

/** Returns whether one event can match both patterns. */
export function canMeet(a: EventPattern, b: EventPattern): boolean {
  if (a.kind === 'type') return takes(b, a.text, a)
  if (b.kind === 'type') return canMeet(b, a)
  if (a.kind === 'all' || b.kind === 'all' || a.kind !== b.kind) return true
  if (a.kind === 'prefix' && b.kind === 'prefix') return a.prefix.startsWith(b.prefix) || b.prefix.startsWith(a.prefix)
  return a.text === b.text
}

function invalid(message: string): ConfigurationError {
  return new ConfigurationError('pattern_invalid', message)
}

function list(words: Iterable<string>): string {
  return [...words].map((word) => `'${word}'`).join(', ') || 'none'
}

import { parseTime } from '../../../src/protocol/iso-time.ts'
import { findNearest } from '../../../src/protocol/nearest.ts'
import { type ExitError, usageError } from '../io.ts'

/** Fields of an envelope, without `type`, which is an argument of the command. */
const ENVELOPE = ['id', 'timestamp', 'accountKey', 'data']

/**
 * Changes values of an event. Each setting is `path=value`, with dots between names. Ends the command if a path leads nowhere, or if its
 * last name is nearly an existing one. A value is JSON if it can be parsed, and text otherwise. Text of the event stays text, except for
 * `null`.
 */
export function setValues(event: object, settings: readonly string[]): void {
  for (const setting of settings) {
    const { path, names, text } = readSetting(setting)
    const [first = ''] = names
    if (first === 'type') throw refuse(path, 'The type is the first argument of the command.')
    if (!ENVELOPE.includes(first)) throw refuse(path, suggest(event, path, '', first, ENVELOPE))
    setValue(event, path, names, text)
  }
}

function readSetting(setting: string) {
  const equals = setting.indexOf('=')
  if (equals < 1) throw refuse(setting, 'Write it as path=value: data.record.email=zoe@example.test.')
  const path = setting.slice(0, equals)
  const names = path.split('.')
  if (names.includes('')) throw refuse(path, 'There is nothing between two of its dots, or at an end.')
  return { path, names, text: setting.slice(equals + 1) }
}

function setValue(event: object, path: string, names: readonly string[], text: string): void {
  let object = event
  let before = ''
  for (const [index, name] of names.entries()) {
    const known = Object.keys(object)
    if (Array.isArray(object)) throw refuse(path, `${before} is a list: give it whole, as JSON.`)
    if (index === names.length - 1) {
      const nearest = known.includes(name) ? undefined : findNearest(name, known)
      if (nearest !== undefined)
        throw refuse(path, `Did you mean ${join(before, nearest)}? A field of that very name goes with --data.`)
      if (before === 'data' && known.includes('record') && !known.includes(name))
        throw refuse(path, `Did you mean data.record.${name}? A field beside the record goes with --data.`)
      mustFitEnvelope(path, text)
      define(object, name, toValue(text, read(object, name)))
      return
    }
    const next = read(object, name)
    const place = join(before, name)
    if (typeof next !== 'object' || next === null)
      throw refuse(path, known.includes(name) ? `${place} has no fields.` : suggest(event, path, before, name, known))
    object = next
    before = place
  }
}

/** Advises on a name that the object at `before` does not have. */
function suggest(event: object, path: string, before: string, wrong: string, known: readonly string[]): string {
  const nearest = findNearest(wrong, known)
  if (nearest !== undefined) return `Did you mean ${join(before, nearest)}?`
  const last = path.slice(path.lastIndexOf('.') + 1)
  const all = listPaths(event)
  const elsewhere = all.find((each) => each.split('.').at(-1) === last) ?? all.find((each) => each.endsWith(`.${path}`))
  if (elsewhere !== undefined) return `Did you mean ${elsewhere}?`
  return before === ''
    ? `The event has ${known.join(', ')}; what happened is in data.`
    : `${before} has ${known.join(', ') || 'no fields'}. What has fields of its own is given whole: --set ${join(before, wrong)}={"…":"…"}.`
}

function listPaths(value: object, before = ''): readonly string[] {
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = join(before, name)
    return typeof inner === 'object' && inner !== null ? [path, ...listPaths(inner, path)] : [path]
  })
}

function toValue(text: string, before: unknown): unknown {
  if (typeof before === 'string' && text !== 'null') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function mustFitEnvelope(path: string, text: string): void {
  if (path === 'timestamp' && text !== 'null' && Number.isNaN(parseTime(text)))
    throw refuse(path, 'It is a time: 2025-01-31T12:00:00Z; or write how long ago it was: --late 24h.')
  if (/^(id|accountKey)$/.test(path) && text === '') throw refuse(path, 'It must not be empty.')
}

/** Reads an own field, so that `__proto__` and `constructor` are ordinary names. */
function read(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value
}

function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}

function join(before: string, name: string): string {
  return before === '' ? name : `${before}.${name}`
}

function refuse(path: string, why: string): ExitError {
  return usageError(`--set ${path} cannot be set. ${why}`)
}

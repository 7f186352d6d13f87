import { type Action, NAMED_MODELS, splitType } from '../../src/protocol/events.ts'
import { findMeantModel } from '../../src/protocol/find-meant-type.ts'
import { findSlip } from '../../src/protocol/nearest.ts'
import { MODEL_KEY } from '../wire/model-of.ts'
import { SAMPLES } from '../wire/samples.ts'
import { writeAsJson } from './check-input.ts'
import type { Core } from './core.ts'
import { LIMITS } from './limits.ts'
import { Refusal } from './refusal.ts'

/** Record of any model: an object with an `_id`. */
export interface EmulatorRecord {
  readonly _id: string
  readonly [field: string]: unknown
}

export interface RecordChange {
  readonly accountKey: string
  readonly model: string
  readonly action: Action
  /** Whole record, or only its `_id` for a deletion. */
  readonly record: EmulatorRecord
}

type WrittenRecord = Omit<RecordChange, 'action'>

const MAX_ID_LENGTH = 256

/**
 * Creates the records of all accounts. Each change emits an event. Service text, section 6.
 *
 * @param listSubscribed returns the types that webhooks are subscribed to
 * @param announce emits the event of a change, and calls `write` in the transaction that writes the deliveries; or throws and changes nothing
 */
export function createRecords(
  { journal, ids, feed }: Core,
  announce: (change: RecordChange, write: () => void) => void,
  listSubscribed: () => readonly string[],
) {
  const warned = new Set<string>()
  const tellMeant = (model: string) => {
    const subscribed = listSubscribed().flatMap((type) => splitType(type)?.model ?? [])
    const meant = findMeantModel(model, [...NAMED_MODELS, ...subscribed])
    return meant === undefined ? undefined : `did you mean ${meant}?`
  }
  /** Warns once of a field that the service documents in other letters. Any other may exist. */
  const tellField = (model: string, fields: object, known: readonly string[] = []) => {
    const documented = model === 'contact' ? Object.keys(SAMPLES.contact) : []
    for (const name of Object.keys(fields)) {
      const meant = [...documented, ...known].includes(name) ? undefined : findSlip(name, documented)
      if (meant === undefined || warned.has(`${model}.${name}`)) continue
      warned.add(`${model}.${name}`)
      feed.warn(`a ${model} gets a field "${name}"; did you mean ${meant}?`)
    }
  }
  const all = new Map(journal.load<WrittenRecord>('record').map(({ id, value }) => [id, value]))
  const get = (accountKey: string, model: string, id: string): EmulatorRecord => {
    mustBeModel(model)
    const found = all.get(keyOf(accountKey, model, id))
    if (found === undefined)
      throw new Refusal('unknown', ...[`there is no such ${model}`, tellMeant(model) ?? []].flat())
    return found.record
  }
  const put = (accountKey: string, model: string, action: Action, given: EmulatorRecord): EmulatorRecord => {
    // Stores the JSON value, as the file and the events hold it, and not the caller's object.
    const record: EmulatorRecord = writeAsJson(() => JSON.parse(JSON.stringify(given)))
    const key = keyOf(accountKey, model, record._id)
    const written: WrittenRecord = { accountKey, model, record }
    announce({ ...written, action }, () => journal.save('record', key, written))
    all.set(key, written)
    return record
  }
  return {
    get,
    count: () => all.size,
    list(accountKey: string, model: string): readonly EmulatorRecord[] {
      mustBeModel(model)
      const found = [...all.values()].filter((each) => each.accountKey === accountKey && each.model === model)
      return found.map(({ record }) => record)
    },
    create(accountKey: string, model: string, fields: Readonly<Record<string, unknown>>): EmulatorRecord {
      mustBeModel(model)
      const { _id: id = ids.object(), ...rest } = fields
      if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH)
        throw new Refusal('invalid', `_id must be text of 1 to ${MAX_ID_LENGTH} characters`)
      if (all.has(keyOf(accountKey, model, id))) throw new Refusal('exists', `there is a ${model} ${id} already`)
      if (all.size >= LIMITS.records)
        throw new Refusal('full', `the emulator takes ${LIMITS.records} records at most; delete some`)
      const fix = warned.has(model) ? undefined : tellMeant(model)
      if (fix !== undefined) feed.warn(`a record of a model "${model}" is created; ${fix}`)
      warned.add(model)
      tellField(model, fields)
      return put(accountKey, model, 'created', { _id: id, ...rest })
    },
    update(accountKey: string, model: string, id: string, fields: Readonly<Record<string, unknown>>): EmulatorRecord {
      const record = get(accountKey, model, id)
      if (fields._id !== undefined && fields._id !== id)
        throw new Refusal(
          'invalid',
          `_id: a record keeps its _id, ${JSON.stringify(id)}; leave it out, or create another record`,
        )
      tellField(model, fields, Object.keys(record))
      const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
      return put(accountKey, model, 'updated', { ...record, ...given, _id: id })
    },
    delete(accountKey: string, model: string, id: string): void {
      get(accountKey, model, id)
      const key = keyOf(accountKey, model, id)
      announce({ accountKey, model, action: 'deleted', record: { _id: id } }, () => journal.remove('record', key))
      all.delete(key)
    },
    clear: () => all.clear(),
  }
}

const keyOf = (...parts: readonly string[]) => JSON.stringify(parts)

function mustBeModel(model: string): void {
  if (typeof model !== 'string' || !MODEL_KEY.test(model) || model.length > 100)
    throw new Refusal(
      'invalid',
      `${JSON.stringify(model)} is not a model key: give up to 100 letters, digits and underscores, a letter first`,
    )
}

import type { Action } from '../../src/protocol/events.ts'
import { writeAsJson } from './check-input.ts'
import type { Journal } from './journal.ts'
import type { Ids } from './random.ts'
import { Refusal } from './refusal.ts'
import { MODEL_KEY } from './subscription.ts'

/** Record of any model: an object with an `_id`. */
export interface EmulatorRecord {
  readonly _id: string
  readonly [field: string]: unknown
}

export interface RecordsParts {
  readonly journal: Journal
  readonly ids: Ids
  readonly max: number
  /** Emits the event of a change. Calls `write` in the transaction that writes the deliveries, or throws and changes nothing. */
  readonly announce: (change: RecordChange, write: () => void) => void
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

/** Records of all accounts. Each change emits an event. Service text, section 6. */
export class Records {
  readonly #all = new Map<string, WrittenRecord>()
  readonly #parts: RecordsParts

  constructor(parts: RecordsParts) {
    this.#parts = parts
    for (const { id, value } of parts.journal.load<WrittenRecord>('record')) this.#all.set(id, value)
  }

  get size(): number {
    return this.#all.size
  }

  list(accountKey: string, model: string): readonly EmulatorRecord[] {
    mustBeModel(model)
    const all = [...this.#all.values()]
    return all.filter((each) => each.accountKey === accountKey && each.model === model).map(({ record }) => record)
  }

  get(accountKey: string, model: string, id: string): EmulatorRecord {
    mustBeModel(model)
    const found = this.#all.get(keyOf(accountKey, model, id))
    if (found === undefined) throw new Refusal('unknown', `there is no such ${model}`)
    return found.record
  }

  create(accountKey: string, model: string, fields: Readonly<Record<string, unknown>>): EmulatorRecord {
    mustBeModel(model)
    const { ids, max } = this.#parts
    const { _id: id = ids.object(), ...rest } = fields
    if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH)
      throw new Refusal('invalid', `_id must be text of 1 to ${MAX_ID_LENGTH} characters`)
    if (this.#all.has(keyOf(accountKey, model, id))) throw new Refusal('exists', `there is a ${model} ${id} already`)
    if (this.#all.size >= max) throw new Refusal('full', `the emulator takes ${max} records at most; delete some`)
    return this.#put(accountKey, model, 'created', { _id: id, ...rest })
  }

  update(accountKey: string, model: string, id: string, fields: Readonly<Record<string, unknown>>): EmulatorRecord {
    const record = this.get(accountKey, model, id)
    if (fields._id !== undefined && fields._id !== id)
      throw new Refusal(
        'invalid',
        `_id: a record keeps its _id, ${JSON.stringify(id)}; leave it out, or create another record`,
      )
    return this.#put(accountKey, model, 'updated', { ...record, ...fields, _id: id })
  }

  delete(accountKey: string, model: string, id: string): void {
    this.get(accountKey, model, id)
    const key = keyOf(accountKey, model, id)
    const change: RecordChange = { accountKey, model, action: 'deleted', record: { _id: id } }
    this.#parts.announce(change, () => this.#parts.journal.remove('record', key))
    this.#all.delete(key)
  }

  clear(): void {
    this.#all.clear()
  }

  #put(accountKey: string, model: string, action: Action, given: EmulatorRecord): EmulatorRecord {
    // Stores the JSON value, as the file and the events hold it, and not the caller's object.
    const record: EmulatorRecord = writeAsJson(() => JSON.parse(JSON.stringify(given)))
    const key = keyOf(accountKey, model, record._id)
    const written: WrittenRecord = { accountKey, model, record }
    this.#parts.announce({ accountKey, model, action, record }, () => this.#parts.journal.save('record', key, written))
    this.#all.set(key, written)
    return record
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

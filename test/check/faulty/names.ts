import { basename } from 'node:path'
import { KnowsItsRecords } from '../architectures.ts'
import { type Answer, type Event, HandWritten } from './hand-written.ts'

// Receivers that take one name for another.

export const IgnoresUnknownRecords = KnowsItsRecords

/** Looks ids up in an object, which has some properties from the beginning. */
export class KeysAnObjectByIds extends HandWritten {
  readonly #seen: Record<string, unknown> = {}

  override isDone({ id }: Event): boolean {
    return Boolean(this.#seen[id])
  }

  override note({ id }: Event): void {
    this.#seen[id] = true
  }
}

/** Finds the code of a model in an object. */
export class KeysAnObjectByModels extends HandWritten {
  readonly #handlers: Record<string, Record<string, () => void>> = { contact: { created() {} } }

  override async handle(event: Event): Promise<Answer> {
    const [model = '', action = ''] = event.type.split('.')
    const handlers = this.#handlers[model]
    if (handlers !== undefined && handlers[action] === undefined && model !== 'contact')
      throw new TypeError(`handlers[model].${action} is not a function`)
    return super.handle(event)
  }
}

/** Asks records for their own fields. */
export class CallsMethodsOfRecords extends HandWritten {
  override async handle(event: Event): Promise<Answer> {
    const record = event.data?.record ?? {}
    // biome-ignore lint/suspicious/noPrototypeBuiltins: the demonstrated mistake
    if (record.hasOwnProperty('mergedInto')) return { status: 200 }
    return super.handle(event)
  }
}

/** Makes a receiver that recognizes duplicates by such a key. */
const keyed = (toKey: (event: Event) => string) =>
  class extends HandWritten {
    override keyOf(event: Event): string {
      return toKey(event)
    }
  }

const hash = (id: string, factor: number) => [...Buffer.from(id)].reduce((sum, byte) => (sum * factor + byte) | 0, 0)

export const TrimsIds = keyed(({ id }) => id.trim())
export const StoresUuids = keyed(({ id }) => id.slice(0, 36))
export const HashesIdsAsJava = keyed(({ id }) => String(hash(id, 31)))

export const TakesHyphensForUnderscores = keyed(({ id }) => id.replaceAll('-', '_'))
export const DropsHyphens = keyed(({ id }) => id.replaceAll('-', ''))
export const DropsUnderscores = keyed(({ id }) => id.replaceAll('_', ''))
export const NormalizesIds = keyed(({ id }) => id.normalize('NFKC'))

/** Makes a receiver that stores each event in a file of such a name. */
const filing = (toName: (id: string) => string) =>
  class extends HandWritten {
    override keyOf({ id }: Event): string {
      return toName(id)
    }

    override write({ id }: Event): void {
      const name = toName(id)
      if (name.includes('/')) throw new Error('ENOENT')
      if (`${name}.json`.length > 255) throw new Error('ENAMETOOLONG')
    }
  }

export const NamesFilesByIds = filing((id) => id)
export const NamesFilesByEndsOfIds = filing(basename)

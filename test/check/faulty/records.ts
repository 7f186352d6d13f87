import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type Event, HandWritten } from './hand-written.ts'

// Receivers whose database or schema rejects valid records, or the order in which events may arrive.

const recordOf = ({ data }: Event): Readonly<Record<string, unknown>> => data?.record ?? {}
const textsOf = (event: Event) => Object.values(recordOf(event)).filter((value) => typeof value === 'string')

function refuse(isRefused: boolean, message: string): void {
  if (isRefused) throw new Error(message)
}

/** Searches a record, and then creates or updates it; the record has a unique key. */
const searching = (onConflict: () => Answer) =>
  class extends HandWritten {
    readonly #rows = new Set<unknown>()

    override async handle(event: Event): Promise<Answer> {
      const { _id } = recordOf(event)
      if (_id === undefined) return super.handle(event)
      const isKnown = this.#rows.has(_id)
      await sleep(10)
      if (!isKnown && this.#rows.has(_id)) return onConflict()
      this.#rows.add(_id)
      return super.handle(event)
    }
  }

export const FailsAtConcurrentCreation = searching(() => ({ status: 500 }))
export const LosesConcurrentUpdates = searching(() => ({ status: 200 }))

/** Reads the version of a record, and refuses to write over another one. */
export class FailsAtConcurrentUpdates extends HandWritten {
  readonly #versions = new Map<unknown, number>()

  override async handle(event: Event): Promise<Answer> {
    const { _id } = recordOf(event)
    const version = this.#versions.get(_id) ?? 0
    await sleep(10)
    if (event.type.endsWith('.updated') && (this.#versions.get(_id) ?? 0) !== version) return { status: 500 }
    this.#versions.set(_id, version + 1)
    return super.handle(event)
  }
}

/** Makes a receiver whose database rejects such an event. */
const rejecting = (isRejected: (event: Event) => boolean, message: string) =>
  class extends HandWritten {
    override write(event: Event): void {
      refuse(isRejected(event), message)
    }
  }

const rejectingText = (isRejected: (text: string) => boolean, message: string) =>
  rejecting((event) => textsOf(event).some(isRejected), message)

export class InsertsOnly extends HandWritten {
  readonly #rows = new Set<unknown>()

  override write(event: Event): void {
    const { _id } = recordOf(event)
    refuse(event.type.endsWith('.created') && _id !== undefined && this.#rows.has(_id), 'duplicate key')
    this.#rows.add(_id)
  }
}

export class DeletesOnlyWhatIsThere extends HandWritten {
  readonly #rows = new Set<unknown>()

  override write(event: Event): void {
    const { _id } = recordOf(event)
    if (event.type.endsWith('.deleted')) refuse(!this.#rows.delete(_id), 'no such row')
    else this.#rows.add(_id)
  }
}

export const WritesStatementsByHand = rejectingText((text) => text.includes("'"), 'syntax error at or near')

export const StoresShortText = rejectingText((text) => text.length > 255, 'value too long')

export const NeedsText = rejectingText((text) => text === '', 'must not be empty')

export const StoresNoNullCharacter = rejectingText(
  (text) => text.includes('\u0000'),
  'unsupported Unicode escape sequence',
)

export const StoresWholeCharacters = rejectingText((text) => /\p{Cs}/u.test(text), 'surrogates not allowed')

export const KnowsTwoStatuses = rejecting(
  (event) => !['active', 'inactive'].includes(String(recordOf(event).status ?? 'active')),
  'invalid value for an enum',
)

export const CastsToObjectId = rejecting(
  (event) => !/^[0-9a-f]{24}$/.test(String(recordOf(event)._id ?? '0'.repeat(24))),
  'Cast to ObjectId failed',
)

export class NeedsOwnAddress extends HandWritten {
  readonly #owners = new Map<unknown, unknown>()

  override write(event: Event): void {
    const { email, _id } = recordOf(event)
    if (email === undefined || email === '') return
    refuse((this.#owners.get(email) ?? _id) !== _id, 'duplicate key')
    this.#owners.set(email, _id)
  }
}

export const NeedsData = rejecting(({ data }) => data === undefined, 'Cannot read properties of undefined')

export const StoresShortIds = rejecting(({ id }) => id.length > 64, 'value too long')

export class CutsIds extends HandWritten {
  override keyOf({ id }: Event): string {
    return id.slice(0, 64)
  }
}

export class ReadsDigitsOfIds extends HandWritten {
  override keyOf({ id }: Event): string {
    return id.slice(18).replaceAll(/\D/g, '')
  }
}

export class ComparesIdsWithoutCase extends HandWritten {
  override keyOf({ id }: Event): string {
    return id.toLowerCase()
  }
}

export const NeedsUtc = rejecting(({ timestamp }) => !timestamp.endsWith('Z'), 'does not match format')

export class RefusesTheFuture extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    return Date.parse(event.timestamp) > Date.now() + 1_500 ? { status: 400 } : super.receive(event)
  }
}

export class RefusesThePast extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    return Date.now() - Date.parse(event.timestamp) > 10_800_000 ? { status: 400 } : super.receive(event)
  }
}

const FIELDS = ['firstName', 'lastName', 'email', 'status']
const isContact = ({ type }: Event) => /^contact\.(created|updated)$/.test(type)

export const NeedsAllFields = rejecting(
  (event) => isContact(event) && FIELDS.some((name) => recordOf(event)[name] === undefined),
  'Required',
)

export const NeedsTextInFields = rejecting(
  (event) => isContact(event) && FIELDS.some((name) => recordOf(event)[name] === null),
  'Expected string, received null',
)

export class HasColumnsOf32Bits extends HandWritten {
  override async handle(event: Event): Promise<Answer> {
    refuse(
      Object.values(recordOf(event)).some((value) => Number(value) > 0x7fffffff),
      'integer out of range',
    )
    return super.handle(event)
  }
}

export class RefusesNamesWithDots extends HandWritten {
  override async handle(event: Event): Promise<Answer> {
    refuse(
      Object.keys(recordOf(event)).some((name) => name.includes('.')),
      'a name must not have a dot',
    )
    return super.handle(event)
  }
}

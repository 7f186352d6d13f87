import { type Answer, type Event, HandWritten } from './hand-written.ts'

// Receivers whose database or schema rejects valid records, or the order in which events may arrive.

const recordOf = ({ data }: Event): Readonly<Record<string, unknown>> => data?.record ?? {}
const textsOf = (event: Event) => Object.values(recordOf(event)).filter((value) => typeof value === 'string')

function refuse(isRefused: boolean, message: string): void {
  if (isRefused) throw new Error(message)
}

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

export class WritesStatementsByHand extends HandWritten {
  override write(event: Event): void {
    refuse(
      textsOf(event).some((text) => text.includes("'")),
      'syntax error at or near',
    )
  }
}

export class StoresShortText extends HandWritten {
  override write(event: Event): void {
    refuse(
      textsOf(event).some((text) => text.length > 255),
      'value too long',
    )
  }
}

export class NeedsText extends HandWritten {
  override write(event: Event): void {
    refuse(textsOf(event).includes(''), 'must not be empty')
  }
}

export class StoresNoNullCharacter extends HandWritten {
  override write(event: Event): void {
    refuse(
      textsOf(event).some((text) => text.includes('\u0000')),
      'unsupported Unicode escape sequence',
    )
  }
}

export class StoresWholeCharacters extends HandWritten {
  override write(event: Event): void {
    refuse(
      textsOf(event).some((text) => /\p{Cs}/u.test(text)),
      'surrogates not allowed',
    )
  }
}

export class KnowsTwoStatuses extends HandWritten {
  override write(event: Event): void {
    const { status = 'active' } = recordOf(event)
    refuse(status !== 'active' && status !== 'inactive', 'invalid value for an enum')
  }
}

export class CastsToObjectId extends HandWritten {
  override write(event: Event): void {
    const { _id = '0'.repeat(24) } = recordOf(event)
    refuse(!/^[0-9a-f]{24}$/.test(String(_id)), 'Cast to ObjectId failed')
  }
}

export class NeedsOwnAddress extends HandWritten {
  readonly #owners = new Map<unknown, unknown>()

  override write(event: Event): void {
    const { email, _id } = recordOf(event)
    if (email === undefined || email === '') return
    refuse((this.#owners.get(email) ?? _id) !== _id, 'duplicate key')
    this.#owners.set(email, _id)
  }
}

export class NeedsData extends HandWritten {
  override write({ data }: Event): void {
    refuse(data === undefined, 'Cannot read properties of undefined')
  }
}

export class StoresShortIds extends HandWritten {
  override write({ id }: Event): void {
    refuse(id.length > 64, 'value too long')
  }
}

export class CutsIds extends HandWritten {
  override keyOf({ id }: Event): string {
    return id.slice(0, 64)
  }
}

export class ComparesIdsWithoutCase extends HandWritten {
  override keyOf({ id }: Event): string {
    return id.toLowerCase()
  }
}

export class NeedsUtc extends HandWritten {
  override write({ timestamp }: Event): void {
    refuse(!timestamp.endsWith('Z'), 'does not match format')
  }
}

export class RefusesTheFuture extends HandWritten {
  override async receive(event: Event): Promise<Answer> {
    return Date.parse(event.timestamp) > Date.now() + 1_500 ? { status: 400 } : super.receive(event)
  }
}

import type { DeliveryAttempt, Standing, StoredDelivery } from './delivery.ts'
import type { EntryKind, Journal } from './journal.ts'
import { Refusal } from './refusal.ts'

export interface LogLimits {
  /** Number of deliveries to keep. Drops the oldest finished ones first, and never a pending one. */
  readonly kept: number
  readonly pending: number
  /** Total bytes of bodies and stored answers. Above it, drops finished deliveries, and refuses new ones if pending ones fill it. */
  readonly bytes: number
}

const KIND: EntryKind = 'delivery'

/** Undefined fields, which JSON omits. */
const NOTHING = { nextAttemptAt: undefined, resendOf: undefined, note: undefined }

/** Changed fields of a delivery. Only a retry with a new timestamp changes the bytes. */
export type DeliveryChange = Pick<StoredDelivery, 'status' | 'nextAttemptAt'> &
  Partial<Pick<StoredDelivery, 'attempts' | 'note' | 'remaining' | 'bytes'>>

/** Part of a delivery that is written at each change; its bytes are written separately, and once. */
type WrittenDelivery = Omit<StoredDelivery, 'bytes' | 'signedBytes' | 'isInFlight' | 'made' | 'change' | 'ticket'>

/** A delivery, and the place of its event in the inbox. */
export type Placed = readonly [delivery: StoredDelivery, standing: Standing | undefined]

export class DeliveryLog {
  readonly #all = new Map<string, StoredDelivery>()
  /** Finished deliveries, in the order in which they finished. */
  #finished = new Set<StoredDelivery>()
  #madeCount = 0
  #changeCount = 0
  /** Number of the last removal: no reader can continue from before. */
  #lostAt = 0
  #bytes = 0
  #pendingBytes = 0
  readonly #journal: Journal
  readonly #limits: LogLimits

  constructor(journal: Journal, limits: LogLimits) {
    this.#journal = journal
    this.#limits = limits
    for (const { id, value } of journal.load<WrittenDelivery>(KIND)) {
      const bytes = journal.loadBytes(id)
      if (bytes === undefined) throw new Error(`the body of delivery ${id} is missing`)
      this.#keep({
        ...NOTHING,
        ...value,
        bytes,
        signedBytes: journal.loadBytes(signedIdOf(id)),
        isInFlight: false,
        made: 0,
        change: 0,
        ticket: 0,
      })
    }
    this.#finished = new Set([...this.#finished].sort((a, b) => lastAt(a) - lastAt(b)))
  }

  get size(): number {
    return this.#all.size
  }

  get pendingCount(): number {
    return this.#all.size - this.#finished.size
  }

  /** Number of the last change. */
  get lastChange(): number {
    return this.#changeCount
  }

  /** Lists what changed after the change of that number, in the order of changes; undefined if deliveries were removed since. */
  listChanges(after: number): readonly StoredDelivery[] | undefined {
    if (after < this.#lostAt || after > this.#changeCount) return undefined
    const changed = this.list().filter(({ change }) => change > after)
    return changed.sort((a, b) => a.change - b.change)
  }

  find(id: string): StoredDelivery | undefined {
    return this.#all.get(id)
  }

  has(delivery: StoredDelivery): boolean {
    return this.#all.get(delivery.id) === delivery
  }

  list(webhookId?: string): readonly StoredDelivery[] {
    const all = [...this.#all.values()]
    return webhookId === undefined ? all : all.filter((delivery) => delivery.webhookId === webhookId)
  }

  /** Refuses new deliveries if too many deliveries or bytes would be pending. */
  mustTake(count: number, bytes: number): void {
    const { pending, bytes: mostBytes } = this.#limits
    const refuse = (what: string, most: string) => {
      const fix = 'it is not a load generator. Let them drain, or POST /_emulator/reset'
      throw new Refusal('full', `${what} are pending, and the emulator takes ${most}: ${fix}`)
    }
    if (this.pendingCount + count > pending) refuse(`${this.pendingCount} deliveries`, String(pending))
    if (this.#pendingBytes + bytes > mostBytes)
      refuse(`${this.pendingCount} deliveries of ${showMiB(this.#pendingBytes)}`, showMiB(mostBytes))
  }

  /** Writes new deliveries in one transaction with `alongside`, and drops old ones to make room. */
  add(deliveries: readonly StoredDelivery[], alongside?: () => void): void {
    const added = deliveries.reduce((sum, delivery) => sum + sizeOf(delivery), 0)
    this.#commit(this.#listOldest(deliveries.length, added), () => {
      alongside?.()
      for (const delivery of deliveries) this.#write(delivery, true)
    })
    for (const delivery of deliveries) this.#keep(delivery)
  }

  /** Writes a change of deliveries in one transaction with `alongside`, then applies it. If they finish, drops old ones to make room. */
  update(deliveries: readonly StoredDelivery[], change: DeliveryChange, alongside?: () => void): void {
    const growth = () => deliveries.reduce((sum, old) => sum + sizeOf({ ...old, ...change }) - sizeOf(old), 0)
    const dropped = change.status === 'pending' ? [] : this.#listOldest(0, growth())
    this.#commit(dropped, () => {
      alongside?.()
      for (const delivery of deliveries) this.#write({ ...delivery, ...change }, change.bytes !== undefined)
    })
    this.updateUnwritten(deliveries, change)
  }

  updateUnwritten(deliveries: readonly StoredDelivery[], change: DeliveryChange): void {
    for (const delivery of deliveries) {
      this.#count(delivery, -1)
      Object.assign(delivery, change)
      delivery.change = ++this.#changeCount
      this.#count(delivery, 1)
      if (delivery.status === 'pending') this.#finished.delete(delivery)
      else this.#finished.add(delivery)
    }
  }

  /** Notes the places of accepted events in the inbox, then writes them in one transaction. */
  place(places: readonly Placed[]): void {
    const known = places.filter(([delivery]) => this.has(delivery))
    for (const [delivery, standing] of known) {
      delivery.standing = standing
      delivery.change = ++this.#changeCount
    }
    if (known.length === 0) return
    this.#journal.together(() => {
      for (const [delivery] of known) this.#write(delivery, false)
    })
  }

  removeWebhook(webhookId: string, alongside: () => void): void {
    this.#commit(this.list(webhookId), alongside)
    this.#lostAt = ++this.#changeCount
  }

  clear(): void {
    this.#lostAt = ++this.#changeCount
    this.#all.clear()
    this.#finished.clear()
    this.#bytes = 0
    this.#pendingBytes = 0
  }

  #count(delivery: StoredDelivery, sign: 1 | -1): void {
    const size = sign * sizeOf(delivery)
    this.#bytes += size
    if (delivery.status === 'pending') this.#pendingBytes += size
  }

  #keep(delivery: StoredDelivery): void {
    delivery.made = ++this.#madeCount
    delivery.change = ++this.#changeCount
    this.#count(delivery, 1)
    this.#all.set(delivery.id, delivery)
    if (delivery.status !== 'pending') this.#finished.add(delivery)
  }

  /** Lists the finished deliveries to drop if this many deliveries and bytes are added. */
  #listOldest(addedCount: number, addedBytes: number): readonly StoredDelivery[] {
    const { kept, bytes } = this.#limits
    const oldest: StoredDelivery[] = []
    const count = this.#all.size + addedCount - kept
    let left = this.#bytes + addedBytes - bytes
    for (const delivery of this.#finished) {
      if (oldest.length >= count && left <= 0) break
      oldest.push(delivery)
      left -= sizeOf(delivery)
    }
    return oldest
  }

  /** Writes, and erases deliveries, in one transaction; then forgets these. */
  #commit(dropped: readonly StoredDelivery[], write: () => void): void {
    this.#journal.together(() => {
      write()
      for (const { id } of dropped) {
        this.#journal.remove(KIND, id)
        this.#journal.removeBytes(id)
        this.#journal.removeBytes(signedIdOf(id))
      }
    })
    for (const delivery of dropped) {
      this.#count(delivery, -1)
      this.#all.delete(delivery.id)
      this.#finished.delete(delivery)
    }
  }

  #write(delivery: StoredDelivery, hasNewBytes: boolean): void {
    const {
      bytes,
      signedBytes,
      isInFlight: _isInFlight,
      made: _made,
      change: _change,
      ticket: _ticket,
      ...written
    } = delivery
    this.#journal.save(KIND, delivery.id, written)
    if (hasNewBytes) this.#journal.saveBytes(delivery.id, bytes)
    if (hasNewBytes && signedBytes !== undefined) this.#journal.saveBytes(signedIdOf(delivery.id), signedBytes)
  }
}

function sizeOf({ bytes, signedBytes, attempts }: StoredDelivery): number {
  const answers = attempts.reduce((sum, attempt) => sum + sizeOfAnswer(attempt), 0)
  return bytes.length + (signedBytes?.length ?? 0) + answers
}

function sizeOfAnswer({ responseBody, responseHeaders }: DeliveryAttempt): number {
  return Object.entries(responseHeaders).reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    responseBody.length,
  )
}

const lastAt = ({ attempts, createdAt }: StoredDelivery): number => attempts.at(-1)?.at ?? createdAt

const showMiB = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`

const signedIdOf = (id: string) => `${id}:signed`

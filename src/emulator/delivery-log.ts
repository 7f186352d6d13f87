import type { StoredDelivery } from './delivery.ts'
import type { EntryKind, Journal } from './journal.ts'
import { Refusal } from './refusal.ts'

export interface LogLimits {
  /** Deliveries that are kept; the oldest that are finished go first, pending ones never. */
  readonly kept: number
  readonly pending: number
}

const KIND: EntryKind = 'delivery'

/** What is written of a delivery; its bytes are written once, beside it. */
type WrittenDelivery = Omit<StoredDelivery, 'bytes' | 'signedBytes' | 'isInFlight' | 'ticket'>

/** All deliveries, by webhook, in the order in which they were made. */
export class DeliveryLog {
  readonly #all = new Map<string, StoredDelivery>()
  readonly #byWebhook = new Map<string, Map<string, StoredDelivery>>()
  /** In the order in which they finished. */
  readonly #finished = new Map<string, StoredDelivery>()
  readonly #journal: Journal
  readonly #limits: LogLimits

  constructor(journal: Journal, limits: LogLimits) {
    this.#journal = journal
    this.#limits = limits
    for (const { id, value } of journal.load<WrittenDelivery>(KIND)) {
      const bytes = journal.loadBytes(id)
      if (bytes !== undefined) this.#keep(toStored(value, bytes, journal.loadBytes(signedIdOf(id))))
    }
  }

  get size(): number {
    return this.#all.size
  }

  get pendingCount(): number {
    return this.#all.size - this.#finished.size
  }

  find(id: string): StoredDelivery | undefined {
    return this.#all.get(id)
  }

  has(delivery: StoredDelivery): boolean {
    return this.#all.get(delivery.id) === delivery
  }

  /** In the order in which they were made. */
  list(webhookId?: string): readonly StoredDelivery[] {
    if (webhookId === undefined) return [...this.#all.values()]
    return [...(this.#byWebhook.get(webhookId)?.values() ?? [])]
  }

  listPending(): readonly StoredDelivery[] {
    return this.list().filter(({ status }) => status === 'pending')
  }

  /** Refuses where there would be too many that wait. */
  mustTake(count: number): void {
    if (this.pendingCount + count > this.#limits.pending)
      throw new Refusal(
        'full',
        `${this.pendingCount} deliveries are pending, and the emulator takes ${this.#limits.pending}: it is no load generator. Let them drain, or POST /_emulator/reset`,
      )
  }

  /** Writes new deliveries down, together with whatever `alongside` writes. */
  add(deliveries: readonly StoredDelivery[], alongside?: () => void): void {
    this.#journal.together(() => {
      alongside?.()
      for (const delivery of deliveries) this.#write(delivery, true)
    })
    for (const delivery of deliveries) this.#keep(delivery)
    if (this.#all.size > this.#limits.kept) this.#journal.together(() => this.#dropOldest())
  }

  /** Writes down what has changed. */
  update(delivery: StoredDelivery, { hasNewBytes = false } = {}): void {
    if (delivery.status === 'pending') this.#finished.delete(delivery.id)
    else this.#finished.set(delivery.id, delivery)
    this.#journal.together(() => this.#write(delivery, hasNewBytes))
  }

  removeWebhook(webhookId: string): void {
    this.#journal.together(() => {
      for (const { id } of this.list(webhookId)) this.#remove(id, webhookId)
    })
    this.#byWebhook.delete(webhookId)
  }

  clear(): void {
    for (const map of [this.#all, this.#byWebhook, this.#finished]) map.clear()
  }

  #keep(delivery: StoredDelivery): void {
    this.#all.set(delivery.id, delivery)
    if (delivery.status !== 'pending') this.#finished.set(delivery.id, delivery)
    const ofWebhook = this.#byWebhook.get(delivery.webhookId) ?? new Map<string, StoredDelivery>()
    ofWebhook.set(delivery.id, delivery)
    this.#byWebhook.set(delivery.webhookId, ofWebhook)
  }

  #dropOldest(): void {
    for (const { id, webhookId } of this.#finished.values()) {
      if (this.#all.size <= this.#limits.kept) break
      this.#remove(id, webhookId)
    }
  }

  #remove(id: string, webhookId: string): void {
    this.#all.delete(id)
    this.#finished.delete(id)
    this.#byWebhook.get(webhookId)?.delete(id)
    this.#journal.remove(KIND, id)
    this.#journal.removeBytes(id)
    this.#journal.removeBytes(signedIdOf(id))
  }

  #write(delivery: StoredDelivery, hasNewBytes: boolean): void {
    const { bytes, signedBytes, isInFlight: _isInFlight, ticket: _ticket, ...written } = delivery
    this.#journal.save(KIND, delivery.id, written)
    if (hasNewBytes) this.#journal.saveBytes(delivery.id, bytes)
    if (hasNewBytes && signedBytes !== undefined) this.#journal.saveBytes(signedIdOf(delivery.id), signedBytes)
  }
}

const signedIdOf = (id: string) => `${id}:signed`

/** JSON has no undefined: what is missing in it is put back. */
function toStored(written: WrittenDelivery, bytes: Uint8Array, signedBytes: Uint8Array | undefined): StoredDelivery {
  const nothing = { nextAttemptAt: undefined, resendOf: undefined, note: undefined }
  return { ...nothing, ...written, bytes, signedBytes, isInFlight: false, ticket: 0 }
}

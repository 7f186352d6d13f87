import type { Account } from './accounts.ts'
import type { EmulatorClock } from './clock.ts'
import type { ResendOptions } from './deliveries.ts'
import type { Delivery } from './delivery.ts'
import type { EmittedEvent, EventInput } from './events.ts'
import type { FeedListener } from './feed.ts'
import type { EmulatorRecord } from './records.ts'
import type { Webhook, WebhookChange, WebhookFields } from './webhooks.ts'

/** Whose things are meant. Default: the first account, `acme`. */
export interface OfAccount {
  readonly accountKey?: string | undefined
}

/** An event of the schedule, with its exact body. */
export interface DeliveryWithBody extends Delivery {
  readonly bytes: Uint8Array
}

export interface EmulatorAccounts {
  list(): readonly Account[]
  add(account: Account): Account
}

export interface EmulatorWebhooks {
  /** @param options.secret for the signing secret to be a given one */
  create(fields: WebhookFields, options?: OfAccount & { readonly secret?: string | undefined }): Webhook
  /** Of all accounts if none is given. */
  list(options?: OfAccount): readonly Webhook[]
  get(id: string): Webhook
  update(id: string, fields: WebhookChange): Webhook
  pause(id: string): Webhook
  resume(id: string): Webhook
  delete(id: string): void
}

export interface EmulatorDeliveries {
  /** In the order in which they were made; of one webhook, or of one event, or all. */
  list(filter?: { readonly webhookId?: string; readonly eventId?: string }): readonly DeliveryWithBody[]
  get(id: string): DeliveryWithBody
  /** The manual retry of a failed one, as over the service's API. */
  retry(id: string): Delivery
  /** Sends the same event once more, as a delivery of its own. */
  resend(id: string, options?: ResendOptions): Delivery
  /** Ends when no attempt is under way. Attempts that are to come later are not waited for. */
  whenIdle(): Promise<void>
}

export interface EmulatorRecords {
  list(model: string, options?: OfAccount): readonly EmulatorRecord[]
  get(model: string, id: string, options?: OfAccount): EmulatorRecord
  /** `{model}.created` */
  create(model: string, fields?: Readonly<Record<string, unknown>>, options?: OfAccount): EmulatorRecord
  /** `{model}.updated`: given fields are changed, and the event carries the whole record. */
  update(model: string, id: string, fields: Readonly<Record<string, unknown>>, options?: OfAccount): EmulatorRecord
  /** `{model}.deleted` */
  delete(model: string, id: string, options?: OfAccount): void
}

export interface EmulatorEvents {
  /** Lets an event of any type occur. */
  emit(event: EventInput, options?: OfAccount): EmittedEvent
  /** Duplicates of one event if it has an id, else as many events. All of them, or none. */
  emitMany(event: EventInput, count: number, options?: OfAccount): readonly EmittedEvent[]
  /** The data of an event of that type if none is given. */
  sampleOf(type: string): unknown
}

/**
 * The service in a box. What its methods are given wrongly is refused with a `PosternError` `emulator_refused`, whose message says
 * why.
 */
export interface Emulator extends AsyncDisposable {
  /** Address that it listens on, without a path. */
  readonly url: string
  readonly clock: EmulatorClock
  readonly accounts: EmulatorAccounts
  readonly webhooks: EmulatorWebhooks
  readonly deliveries: EmulatorDeliveries
  readonly records: EmulatorRecords
  readonly events: EmulatorEvents
  /** An access token. */
  login(options?: OfAccount): Promise<string>
  /** Answers a request as it would over HTTP, without a port. */
  fetch(request: Request): Promise<Response>
  /** Calls the listener for everything that happens. Returns a function that ends that. */
  subscribe(listener: FeedListener): () => void
  /** Back to the accounts of the start, with nothing in them. */
  reset(): void
  /** Cuts attempts under way, and ends when nothing is left of it. With a database they are made again by the next emulator. */
  close(): Promise<void>
}

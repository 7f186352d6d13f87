import type { Clock } from '../host/clock.ts'
import type { Delivery, ListedContact, Webhook } from './records.ts'

/** What every call takes. */
export interface CallOptions {
  /** Ends the call, its waits included. It then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** What a new webhook is made of. Service text, section 2.3. */
export interface NewWebhook {
  readonly url: string
  /** At least one. Text beyond the documented types is passed on, with a warning. */
  readonly events: readonly string[]
  readonly description?: string
  /** Whether it delivers from the start. What the service does where this is left out is not documented. */
  readonly active?: boolean
}

/** What can be changed of a webhook. Only what is given is sent. */
export interface WebhookChanges {
  readonly url?: string
  readonly events?: readonly string[]
  readonly active?: boolean
}

/** A webhook that was just made. */
export interface CreatedWebhook {
  readonly webhook: Webhook
  /** Shown this once and never again. It is nowhere in `webhook`. */
  readonly secret: string
}

/** A manual retry that the service took on. What came of it is read from the log. */
export interface AcceptedRetry {
  /** The log's line, where the answer has it. */
  readonly delivery: Delivery | undefined
}

export interface WebhookCalls {
  /**
   * Registers a webhook. Sent again after a failure only where the service can't have carried it out; else `outcome_unknown`: look
   * for it with `list`. `ensureWebhook` does so by itself.
   */
  create(webhook: NewWebhook, options?: CallOptions): Promise<CreatedWebhook>
  /** All webhooks of the account. */
  list(options?: CallOptions): Promise<readonly Webhook[]>
  get(id: string, options?: CallOptions): Promise<Webhook>
  /** Gives the webhook as the service has it afterwards. */
  update(id: string, changes: WebhookChanges, options?: CallOptions): Promise<Webhook>
  /** Stops deliveries. Whether events of the meantime are delivered later is not documented. */
  pause(id: string, options?: CallOptions): Promise<Webhook>
  resume(id: string, options?: CallOptions): Promise<Webhook>
  /** Removes it for good, mostly with its log. */
  delete(id: string, options?: CallOptions): Promise<void>
}

/**
 * The service's API. Every call logs in when it has to, waits for the rate limit, and repeats what may be repeated. All reject with a
 * `ServiceError`, or with the reason of the signal that ended them.
 */
export interface Client {
  readonly webhooks: WebhookCalls
  /** The contacts of the account, page by page as they are asked for. */
  contacts(options?: CallOptions): AsyncIterable<ListedContact>
  /** A webhook's delivery log, in the service's order: mostly the newest first. */
  deliveries(webhookId: string, options?: CallOptions): AsyncIterable<Delivery>
  /**
   * Asks the service to send a failed delivery again. Never sent again where it may have been carried out: `outcome_unknown`, and the
   * log tells. `replayFailed` looks there by itself.
   */
  retry(webhookId: string, deliveryId: string, options?: CallOptions): Promise<AcceptedRetry>
  /** The time that this client goes by. */
  readonly clock: Clock
}

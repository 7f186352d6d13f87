import type { Clock } from '../host/clock.ts'
import type { Delivery, ListedContact, Webhook } from './records.ts'

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, including its waits. It then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Fields of a new webhook. Service text, section 2.3. */
export interface NewWebhook {
  readonly url: string
  /** Event types, at least one. An undocumented type is sent as it is, with a warning. */
  readonly events: readonly string[]
  readonly description?: string | undefined
  /** True if the webhook delivers from the start. The service's default is not documented. */
  readonly active?: boolean | undefined
}

/** Changes to a webhook. Only the given fields are sent. */
export interface WebhookChanges {
  readonly url?: string | undefined
  readonly events?: readonly string[] | undefined
  readonly active?: boolean | undefined
}

/** Webhook that was just created. */
export interface CreatedWebhook {
  readonly webhook: Webhook
  /** Signing secret, which the service shows only once. It is not part of `webhook`. */
  readonly secret: string
}

/** Manual retry that the service accepted. Read its outcome from the log. */
export interface AcceptedRetry {
  /** Log entry of the delivery, if the answer has it. */
  readonly delivery: Delivery | undefined
}

/** The calls about the webhooks of the account. */
export interface WebhookCalls {
  /**
   * Registers a webhook. After a failure, retries only if the service cannot have processed the call; otherwise rejects with
   * `outcome_unknown`: look for the webhook with `list`. `ensureWebhook` does so by itself.
   */
  create(webhook: NewWebhook, options?: CallOptions): Promise<CreatedWebhook>
  /** Lists all webhooks of the account. */
  list(options?: CallOptions): Promise<readonly Webhook[]>
  get(id: string, options?: CallOptions): Promise<Webhook>
  /** Changes a webhook. Returns it as the service has it afterwards. */
  update(id: string, changes: WebhookChanges, options?: CallOptions): Promise<Webhook>
  /** Stops deliveries. The service does not document if it later delivers the events of the pause. */
  pause(id: string, options?: CallOptions): Promise<Webhook>
  resume(id: string, options?: CallOptions): Promise<Webhook>
  /** Deletes the webhook for good, on most services with its log. */
  delete(id: string, options?: CallOptions): Promise<void>
}

/**
 * Client of the service's API. Every call logs in if needed, waits for the rate limit, and retries if a retry is safe. All reject with
 * a `ServiceError`, or with the reason of the signal that aborted them.
 */
export interface Client {
  readonly webhooks: WebhookCalls
  /** Lists the contacts of the account, and requests each page as it is needed. */
  contacts(options?: CallOptions): AsyncIterable<ListedContact>
  /** Reads the delivery log of a webhook in the service's order: in most cases the newest first. */
  deliveries(webhookId: string, options?: CallOptions): AsyncIterable<Delivery>
  /**
   * Asks the service to retry a failed delivery. Never repeats a call that the service may have processed: rejects with
   * `outcome_unknown`, and the log shows the outcome. `replayFailed` reads the log by itself.
   */
  retry(webhookId: string, deliveryId: string, options?: CallOptions): Promise<AcceptedRetry>
  /** Clock of this client. */
  readonly clock: Clock
}

export type {
  AcceptedRetry,
  CallOptions,
  Client,
  CreatedWebhook,
  NewWebhook,
  WebhookCalls,
  WebhookChanges,
} from './api.ts'
export { createClient } from './create-client.ts'
export type { Wait } from './rate-gate.ts'
export type { Delivery, DeliveryState, ListedContact, Webhook } from './records.ts'
export { type FailedCall, ServiceError } from './service-error.ts'
export type { ClientOptions } from './settings.ts'

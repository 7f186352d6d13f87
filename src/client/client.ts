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
export { type EnsuredWebhook, type EnsureOptions, ensureWebhook } from './ensure-webhook.ts'
export { type Drift, findDrift, type HandledTypes } from './find-drift.ts'
export type { Delivery, DeliveryState, ListedContact, Webhook } from './records.ts'
export type { SecretKeeper } from './registrations.ts'
export {
  type ReplayedEvent,
  type ReplayOptions,
  type ReplayOutcome,
  type ReplayProgress,
  type ReplayResult,
  replayFailed,
} from './replay-failed.ts'
export type { ReplayJournal } from './replay-journal.ts'
export { type RotateOptions, type Rotation, rotateWebhook } from './rotate-webhook.ts'
export { type FailedCall, ServiceError } from './service-error.ts'
export type { ClientOptions, Wait } from './settings.ts'

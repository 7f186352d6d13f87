export type { Account } from './accounts.ts'
export type { AssumedOptions } from './assumptions.ts'
export type { EmulatorClock } from './clock.ts'
export type {
  AttemptPhases,
  DeliveryAttempt,
  DeliveryStatus,
  EmulatorDelivery,
  FailureKind,
  Signing,
} from './delivery.ts'
export type { ResendOptions } from './delivery-actions.ts'
export { DIALECTS, type Dialect } from './dialects.ts'
export type {
  DeliveryWithBody,
  Emulator,
  EmulatorAccounts,
  EmulatorDeliveries,
  EmulatorEvents,
  EmulatorRecords,
  EmulatorWebhooks,
  OfAccount,
} from './emulator-api.ts'
export type { EmittedEvent, EventInput } from './events.ts'
export type { FeedListener, FeedMessage } from './feed.ts'
export type { EmulatorDatabase } from './journal.ts'
export type { Duration, EmulatorOptions, FaultOptions, InboxView } from './options.ts'
export type { EmulatorRecord } from './records.ts'
export { startEmulator } from './start-emulator.ts'
export type { Webhook as EmulatorWebhook, WebhookChange, WebhookFields } from './webhooks.ts'

export { type Clock, systemClock } from './host/clock.ts'
export { consoleLogger, type LogFields, type Logger } from './host/logger.ts'
export {
  type Inbox,
  type InboxCounts,
  type InboxEntry,
  type InboxItem,
  type InboxLoop,
  type InboxPage,
  type InboxState,
  type InboxTry,
  type InboxWorkOptions,
  type ListedEntry,
  type ListOptions,
  MOST_COUNTED,
  MOST_LISTED,
  type Settlement,
  type TakenItem,
  TRIES_KEPT,
} from './inbox/inbox.ts'
export type { InboxTable, Taken, TakeRequest } from './inbox/inbox-table.ts'
export { pollInbox } from './inbox/poll.ts'
export type { WorkOptions } from './inbox/retries.ts'
export { DeadLetter, RetryLater } from './inbox/steer.ts'
export type { WorkedOnce, WorkOnceOptions } from './inbox/work-once.ts'
export type { BoundSecret, SecretRequest, Secrets, SecretsFunction } from './protocol/authenticate.ts'
export { ConfigurationError, ERROR_CODES, type ErrorCode, HandlerError, PosternError } from './protocol/errors.ts'
export type {
  Action,
  AnyEvent,
  DeletedRecord,
  EventOf,
  EventSchemas,
  ModelEvent,
  ModelSchemas,
  NoEvents,
  NoPattern,
  NoSuchPattern,
  OpenData,
  OpenModels,
  OpenRecord,
  Pattern,
  ServiceEventType,
  WebhookEvent,
} from './protocol/events.ts'
export { OptionChecker } from './protocol/option-checker.ts'
export {
  type Accepted,
  type Busy,
  type Duplicate,
  type Failed,
  type Handled,
  type Ignored,
  type Late,
  type Misconfigured,
  type Outcome,
  REJECTION_STATUS,
  type Rejected,
  type RejectionCode,
  type Reply,
  type Unavailable,
} from './protocol/outcome.ts'
export { DEFAULT_RETENTION_MS } from './protocol/schedule.ts'
export { type Issue, record, type SchemaIssue, type StandardSchema } from './protocol/schema.ts'
export { type HeaderValue, type Secret, sign, verify } from './protocol/signature.ts'
export { createReceiver } from './receiver/create-receiver.ts'
export type {
  ContextOf,
  Handler,
  HandlerContext,
  HandlerOptions,
  NeverAsync,
  NoRecord,
  SyncTransactionContext,
  TransactionContext,
  Unordered,
} from './receiver/handler.ts'
export type { Interceptor } from './receiver/intercept.ts'
export type { Observer, ReceiverView, Watch } from './receiver/observer.ts'
export type { OutcomeInfo, ReceiverOptions } from './receiver/options.ts'
export type {
  AdapterOptions,
  BodyFailure,
  BodyIntake,
  CloseResult,
  DeliveryRequest,
  DispatchOptions,
  ReceivedDelivery,
  Receiver,
  ReceiverWorker,
  Receives,
} from './receiver/receiver.ts'
export type { EventTypes } from './receiver/routes.ts'
export { winstonLogger } from './receiver/winston-logger.ts'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './store/memory-store.ts'
export type { Claim, Position, Store } from './store/store.ts'
export type { SyncTransactionalStore, TransactionalStore, TransactionClaim } from './store/transactional-store.ts'

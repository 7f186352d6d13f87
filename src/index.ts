export { type Clock, systemClock } from './host/clock.ts'
export { consoleLogger, type Logger } from './host/logger.ts'
export { dropAll } from './inbox/drop-all.ts'
export type {
  Inbox,
  InboxCounts,
  InboxEntry,
  InboxItem,
  InboxPage,
  InboxState,
  InboxTry,
} from './inbox/inbox.ts'
export type { WorkOptions } from './inbox/retries.ts'
export { sealedInbox } from './inbox/sealed-inbox.ts'
export { DeadLetter, RetryLater } from './inbox/steer.ts'
export type { WorkedOnce } from './inbox/work-once.ts'
export type { BoundSecret, SecretRequest, Secrets } from './protocol/authenticate.ts'
export { ConfigurationError, ERROR_CODES, type ErrorCode, HandlerError, PosternError } from './protocol/errors.ts'
export type {
  AnyEvent,
  DeletedRecord,
  EventOf,
  EventSchemas,
  ModelEvent,
  ModelSchemas,
  OpenData,
  OpenModels,
  OpenRecord,
  Pattern,
  ServiceEventType,
  WebhookEvent,
} from './protocol/events.ts'
export { openEvent } from './protocol/open-event.ts'
export { type Outcome, REJECTION_STATUS, type RejectionCode, type Reply } from './protocol/outcome.ts'
export { type Issue, record, type StandardSchema } from './protocol/schema.ts'
export { type Secret, sign, verify } from './protocol/signature.ts'
export type { AdapterOptions } from './receiver/adapter.ts'
export { createReceiver } from './receiver/create-receiver.ts'
export type {
  ContextOf,
  Handler,
  HandlerContext,
  HandlerOptions,
  SyncTransactionContext,
  TransactionContext,
} from './receiver/handler.ts'
export type { Interceptor } from './receiver/intercept.ts'
export type { OutcomeInfo, ReceiverOptions } from './receiver/options.ts'
export { receiveFrom } from './receiver/receive-from.ts'
export type {
  CloseResult,
  ReceivedDelivery,
  Receiver,
  ReceiverWorker,
  Receives,
} from './receiver/receiver.ts'
export type { SenderReceiver } from './receiver/sender-receiver.ts'
export { winstonLogger } from './receiver/winston-logger.ts'
export { type MemoryStore, memoryStore } from './store/memory-store.ts'
export type { Claim, Position, Store } from './store/store.ts'
export type { SyncTransactionalStore, TransactionalStore, TransactionClaim } from './store/transactional-store.ts'

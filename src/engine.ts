// Internal, in no "exports" of the package: what adapters and postern/otel need of the core. The build puts it into each of them.
export { type Clock, systemClock, unref } from './host/clock.ts'
export { escapeUnits } from './host/escape.ts'
export { consoleLogger, type Logger } from './host/logger.ts'
export { waitFor } from './host/wait-for.ts'
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
} from './inbox/inbox.ts'
export { type InboxTable, keepTry, type Taken, type TakeRequest } from './inbox/inbox-table.ts'
export { pollInbox } from './inbox/poll.ts'
export { ConfigurationError, PosternError } from './protocol/errors.ts'
export type { AnyEvent, OpenData } from './protocol/events.ts'
export { findNearest } from './protocol/nearest.ts'
export {
  ANY,
  FLAG,
  FUNCTION,
  type Kind,
  number,
  OptionChecker,
  oneOf,
  TEXT,
  whole,
  withMethods,
} from './protocol/option-checker.ts'
export type { Outcome, Reply } from './protocol/outcome.ts'
export { DEFAULT_RETENTION_MS, STORE_LIMIT_MS } from './protocol/schedule.ts'
export type { EventFacts, EventNames, OpenTypes, Sender, SenderHeaders, SignedHead } from './protocol/sender.ts'
export { show } from './protocol/show.ts'
export type { HeaderValue } from './protocol/signature.ts'
export type { AdapterOptions, BodyFailure, BodyIntake, DeliveryRequest } from './receiver/adapter.ts'
export type { Interceptor } from './receiver/intercept.ts'
export { OBSERVE, type Observable, type ReceiverView, type Watch } from './receiver/observer.ts'
export type { Receives } from './receiver/receiver.ts'
export type { EventTypes } from './receiver/routes.ts'
export type { SenderEvent } from './receiver/sender-event.ts'
export type { SenderReceiver } from './receiver/sender-receiver.ts'
export type { Claim, Position, Store } from './store/store.ts'
export type { SyncTransactionalStore, TransactionalStore, TransactionClaim } from './store/transactional-store.ts'

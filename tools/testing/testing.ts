export type { BodyFormat } from '../wire/json-forms.ts'
export type { Attempt, AttemptFailure, SenderClock } from './attempt.ts'
export type { DeliveryOptions, SignedDelivery } from './delivery.ts'
export {
  createEvents,
  type EnvelopeOptions,
  type EventBuilders,
  type EventsOptions,
  events,
  type ModelBuilders,
} from './events.ts'
export { fetchTarget } from './fetch-target.ts'
export { fastifyTarget, type InjectableApp, type Injection } from './inject-target.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export { type MatcherContext, type MatcherResult, matchers, type PosternMatchers } from './matchers.ts'
export { nodeTarget } from './node-target.ts'
export {
  type HandlerRecorder,
  type HandlerRun,
  type RecordedReceiver,
  recordHandlers,
  type TestedReceiver,
  testReceiver,
} from './recorder.ts'
export {
  type AbortOptions,
  createSender,
  type DeliverOptions,
  type DeliveryResult,
  type PendingDelivery,
  type ScheduledAttempt,
  type Sender,
  type SenderFromOptions,
  type SenderOptions,
  type SendOptions,
} from './sender.ts'
export { type Sendable, type SignedOptions, signed, type Tamper } from './signed.ts'
export type { Payload, SenderTamper, SendFromOptions, SignedFromOptions } from './signed-from.ts'
export { silentLogger } from './silent-logger.ts'
export { type StoreCase, type StoreSuiteOptions, storeSuite } from './store-suite/store-suite.ts'
export type { TransactionTools } from './store-suite/trial.ts'
export type { Target, TargetAnswer, TargetOptions, TargetRequest } from './target.ts'
export { urlTarget } from './url-target.ts'

export { createEvents, type EnvelopeOptions, type EventBuilders, events, type ModelBuilders } from './events.ts'
export { type BodyFormat, type SignedDelivery, type SignedOptions, signed, type Tamper } from './signed.ts'

export type {
  EventFacts,
  EventNames,
  OpenTypes,
  Sender,
  SenderEvent,
  SenderHeaders,
  SenderReceiver,
  SignedHead,
} from '../engine.ts'
export type { ByType } from './by-type.ts'
export { base64Digest, hexDigest, unixSeconds } from './digests.ts'
export { type GitHubOptions, type GitHubTypes, github } from './github.ts'
export type { OnceOptions } from './once.ts'
export { shopify } from './shopify.ts'
export { type StandardWebhooksOptions, standardWebhooks } from './standard-webhooks.ts'
export { type StripeOptions, stripe } from './stripe.ts'

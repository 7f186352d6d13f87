import type { OpenTypes } from '../engine.ts'

/** A union of events that `type` tells apart, as a map by type: `Stripe.Event`, or the events of Clerk, Resend and OpenAI. */
export type ByType<Event> = [Event] extends [never]
  ? OpenTypes
  : { [E in Event as E extends { readonly type: infer T extends string } ? T : never]: E }

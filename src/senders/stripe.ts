import { createHmac } from 'node:crypto'
import { ConfigurationError, findNearest, number, OptionChecker, type Sender } from '../engine.ts'
import type { ByType } from './by-type.ts'
import { hexDigest, splitOnce, unixSeconds } from './digests.ts'
import { toSnake } from './spell.ts'

/** Options of `stripe`. */
export interface StripeOptions {
  /** Most milliseconds between the signed time and the time of receipt. Default 300,000. */
  readonly toleranceMs?: number | undefined
}

/** The most common types. No other type differs from one of them by a letter. */
const COMMON = (
  'account.updated charge.captured charge.dispute.created charge.failed charge.refunded charge.succeeded ' +
  'checkout.session.async_payment_failed checkout.session.async_payment_succeeded checkout.session.completed checkout.session.expired ' +
  'customer.created customer.deleted customer.subscription.created customer.subscription.deleted customer.subscription.trial_will_end ' +
  'customer.subscription.updated customer.updated invoice.created invoice.finalized invoice.paid invoice.payment_action_required ' +
  'invoice.payment_failed invoice.payment_succeeded invoice.upcoming invoice.updated payment_intent.canceled payment_intent.created ' +
  'payment_intent.payment_failed payment_intent.processing payment_intent.requires_action payment_intent.succeeded ' +
  'payment_method.attached payment_method.detached payout.failed payout.paid price.created price.updated product.created product.updated ' +
  'setup_intent.setup_failed setup_intent.succeeded'
).split(' ')
const DAY_MS = 86_400_000
/** Schemes other than `t` and `v1` may come, and are ignored. */
const SCHEME = /^\w+$/
/** Keys and ids of Stripe, and a secret that was cut off. */
const NO_SECRET = /^(sk|rk|pk|we|acct)_|^whsec_$/

/**
 * Stripe, which signs the time of the attempt and the body. The key is the whole text of the endpoint's secret, `whsec_` included.
 *
 * Source, November 2026: docs.stripe.com/webhooks.
 *
 * @throws ConfigurationError `option_unknown`, `option_invalid`
 */
export function stripe<Event = never>(options: StripeOptions = {}): Sender<ByType<Event>> {
  new OptionChecker('stripe').mustFit(options, { toleranceMs: number(1_000, DAY_MS) })
  const { toleranceMs = 300_000 } = options
  return {
    name: 'Stripe',
    headers: ['stripe-signature'],
    unsigned: [],
    toleranceMs,
    waitsMs: 10_000,
    attempts: 16,
    duplicatesForMs: 3 * DAY_MS,
    toKey: encodeSecret,
    spellType(type) {
      const spelt = toSnake(type.replace(/[/:]+/g, '.'))
      if (spelt.includes('.')) return findNearest(toOwnVerb(spelt), COMMON, 1) ?? spelt
      return COMMON.find((common) => common.replaceAll('.', '_') === spelt) ?? `${spelt}.*`
    },
    readHead(headers) {
      let time: string | undefined
      const digests: Uint8Array[] = []
      for (const part of (headers['stripe-signature'] ?? '').split(',')) {
        const [scheme, value] = splitOnce(part, '=')
        if (!SCHEME.test(scheme) || (scheme === 't' && time !== undefined)) return undefined // two headers, joined
        const digest = scheme === 'v1' ? hexDigest(value) : undefined
        if (scheme === 't') time = value
        else if (digest !== undefined) digests.push(digest)
      }
      const signedAt = unixSeconds(time)
      return signedAt === undefined ? undefined : { digests, before: `${time}.`, signedAt }
    },
    nameEvent({ id, type, account, context, created }, _headers, { receivedAt }) {
      if (typeof id !== 'string' || typeof type !== 'string') return undefined
      const occurredAt = typeof created === 'number' ? new Date(created * 1_000) : new Date(String(created ?? ''))
      const timestamp = Number.isNaN(occurredAt.getTime()) ? new Date(receivedAt) : occurredAt
      const accountKey = [account, context].find((key) => typeof key === 'string') ?? 'stripe' // thin events have a context alone
      return { id, type, accountKey, timestamp: timestamp.toISOString() }
    },
    sign(body, key, { at }) {
      const time = Math.floor(at / 1_000)
      const digest = createHmac('sha256', key).update(`${time}.`).update(body).digest('hex')
      return { 'stripe-signature': `t=${time},v1=${digest}` }
    },
  }
}

/** Replaces the last word by the one that Stripe uses for it. */
function toOwnVerb(type: string): string {
  return type.replace(/^(customer\.subscription\.)cancell?ed$/, '$1deleted').replace(/\.payed$/, '.paid')
}

function encodeSecret(secret: string): Uint8Array {
  if (!NO_SECRET.test(secret)) return Buffer.from(secret)
  throw new ConfigurationError(
    'secret_unusable',
    'The signing secret is a key or an id of Stripe. Give the secret of the webhook endpoint, which begins with "whsec_": the dashboard shows it with the endpoint, and "stripe listen" prints its own.',
  )
}

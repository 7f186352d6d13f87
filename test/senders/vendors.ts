import { sign as signGitHub, verify as verifyGitHub } from '@octokit/webhooks-methods'
import '@shopify/shopify-api/adapters/node'
import { ApiVersion, shopifyApi } from '@shopify/shopify-api'
import { createSHA256HMAC, HashFormat } from '@shopify/shopify-api/runtime'
import type { OpenTypes, Sender } from 'postern/senders'
import { github, shopify, standardWebhooks, stripe } from 'postern/senders'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Stripe } from 'stripe'
import { Webhook as SvixWebhook } from 'svix'

type Headers = Readonly<Record<string, string>>

/** A sender with its vendor's own library, as signer and as judge. */
export interface Vendor {
  readonly name: string
  readonly sender: Sender<OpenTypes>
  readonly secret: string
  readonly otherSecret: string
  readonly body: string
  /** The event that body and headers name. */
  readonly event: { readonly id: string; readonly type: string; readonly accountKey: string }
  sign(body: string, secret: string, names: { readonly id: string; readonly at: number }): Promise<Headers>
  /** Resolves to true if the vendor's library takes the delivery. */
  judge(body: string, secret: string, headers: Headers): Promise<boolean>
}

const toSecret = (seed: string) => `whsec_${Buffer.from(seed.padEnd(24, '.')).toString('base64')}`
const passes = (judge: () => unknown) => {
  try {
    judge()
    return true
  } catch {
    return false
  }
}

const clerk = { type: 'user.created', instance_id: 'ins_1', data: { id: 'user_1', name: "O'Neil $& $$ $` 😀\u2028" } }

function toStandard(
  name: string,
  Webhook: typeof StandardWebhook | typeof SvixWebhook,
  prefix: 'webhook' | 'svix',
): Vendor {
  return {
    name,
    sender: standardWebhooks({ headers: prefix, account: (body) => String(body.instance_id) }),
    secret: toSecret('one'),
    otherSecret: toSecret('two'),
    body: JSON.stringify(clerk),
    event: { id: 'msg_1', type: 'user.created', accountKey: 'ins_1' },
    async sign(body, secret, { id, at }) {
      const signature = new Webhook(secret).sign(id, new Date(at), body)
      const time = String(Math.floor(at / 1_000))
      return { [`${prefix}-id`]: id, [`${prefix}-timestamp`]: time, [`${prefix}-signature`]: signature }
    },
    judge: async (body, secret, headers) => passes(() => new Webhook(secret).verify(body, headers)),
  }
}

const api = new Stripe('sk_test_1')
const toShop = (apiSecretKey: string) =>
  shopifyApi({
    apiKey: 'key',
    apiSecretKey,
    apiVersion: ApiVersion.October25,
    isEmbeddedApp: false,
    hostName: 'app.test',
    logger: { level: 0 },
  })

export const vendors: readonly Vendor[] = [
  {
    name: 'GitHub',
    sender: github(),
    secret: 'a secret of GitHub',
    otherSecret: 'another secret of GitHub',
    body: JSON.stringify({
      action: 'opened',
      issue: { title: 'Ünïcödé $&' },
      repository: { id: 7 },
      sender: { id: 1 },
    }),
    event: { id: 'd1', type: 'issues.opened', accountKey: 'repository:7' },
    async sign(body, secret, { id }) {
      const signature = await signGitHub(secret, body)
      return { 'x-hub-signature-256': signature, 'x-github-event': 'issues', 'x-github-delivery': id }
    },
    judge: (body, secret, headers) => verifyGitHub(secret, body, headers['x-hub-signature-256'] ?? ''),
  },
  {
    name: 'Stripe',
    sender: stripe(),
    secret: toSecret('one'),
    otherSecret: toSecret('two'),
    body: JSON.stringify({
      id: 'evt_1',
      type: 'invoice.paid',
      account: 'acct_1',
      created: 1_700_000_000,
      data: { object: {} },
    }),
    event: { id: 'evt_1', type: 'invoice.paid', accountKey: 'acct_1' },
    async sign(payload, secret, { at }) {
      const timestamp = Math.floor(at / 1_000)
      return { 'stripe-signature': api.webhooks.generateTestHeaderString({ payload, secret, timestamp }) }
    },
    judge: async (body, secret, headers) =>
      passes(() => api.webhooks.constructEvent(body, headers['stripe-signature'] ?? '', secret)),
  },
  toStandard('Standard Webhooks', StandardWebhook, 'webhook'),
  toStandard('Svix', SvixWebhook, 'svix'),
  {
    name: 'Shopify',
    sender: shopify(),
    secret: 'a client secret of Shopify',
    otherSecret: 'another client secret',
    body: JSON.stringify({ id: 820_982_911, email: 'jon@example.com' }),
    event: { id: 'orders/create:e1', type: 'orders/create', accountKey: 'a.myshopify.com' },
    async sign(body, secret, { id, at }) {
      return {
        'x-shopify-hmac-sha256': await createSHA256HMAC(secret, body, HashFormat.Base64),
        'x-shopify-topic': 'orders/create',
        'x-shopify-shop-domain': 'a.myshopify.com',
        'x-shopify-webhook-id': `w-${id}`,
        'x-shopify-event-id': id,
        'x-shopify-triggered-at': new Date(at).toISOString(),
      }
    },
    async judge(rawBody, secret, headers) {
      const rawRequest = { method: 'POST', headers: { ...headers, 'x-shopify-api-version': '2025-10' } }
      return (await toShop(secret).webhooks.validate({ rawBody, rawRequest, rawResponse: {} })).valid
    },
  },
]

import { createHmac } from 'node:crypto'
import { ConfigurationError, findNearest, type OpenTypes, type Sender } from '../engine.ts'
import { base64Digest, splitOnce } from './digests.ts'
import { type OnceOptions, readOnce } from './once.ts'
import { toSnake } from './spell.ts'

const HOUR_MS = 3_600_000
const TOKEN = /^shp(at|ca|pa|ua)_/

/**
 * Shopify, which signs the body alone: neither the shop, nor the topic, nor the id. The secret of an app signs for all its shops. That of an
 * app of one shop, bound to it by `{ secret, accountKey: 'a.myshopify.com' }`, proves the shop.
 *
 * Sources, November 2026: shopify.dev/docs/apps/build/webhooks (subscribe, troubleshooting).
 *
 * @throws ConfigurationError `option_unknown`, `option_invalid`
 */
export function shopify<Topics = OpenTypes>(options: OnceOptions = {}): Sender<Topics> {
  const once = readOnce('shopify', options)
  return {
    name: 'Shopify',
    headers: ['x-shopify-hmac-sha256', 'x-shopify-topic', 'x-shopify-shop-domain', 'x-shopify-webhook-id'],
    optionalHeaders: ['x-shopify-event-id', 'x-shopify-name', 'x-shopify-triggered-at'],
    unsigned: ['id', 'type', 'accountKey', 'timestamp'],
    waitsMs: 5_000,
    attempts: 9,
    duplicatesForMs: 4 * HOUR_MS,
    toKey: encodeSecret,
    spellType,
    readHead(headers) {
      const digest = base64Digest(headers['x-shopify-hmac-sha256'])
      return digest && { digests: [digest] }
    },
    nameEvent(_body, headers, { receivedAt, digest }) {
      const topic = headers['x-shopify-topic'] ?? ''
      const name = headers['x-shopify-name']
      // One action of a merchant has one event id for several topics, and for several named subscriptions of one topic.
      const subscription = name === undefined ? topic : `${topic}:${name}`
      const id = `${subscription}:${headers['x-shopify-event-id'] ?? headers['x-shopify-webhook-id']}`
      return {
        id: once === 'body' ? `sha256:${digest()}` : id,
        type: topic,
        accountKey: headers['x-shopify-shop-domain'] ?? '',
        timestamp: headers['x-shopify-triggered-at'] ?? new Date(receivedAt).toISOString(),
      }
    },
    sign(body, key, { id = '', type = '', accountKey = '', at }) {
      return {
        'x-shopify-hmac-sha256': createHmac('sha256', key).update(body).digest('base64'),
        'x-shopify-topic': type,
        'x-shopify-shop-domain': accountKey,
        'x-shopify-webhook-id': id,
        'x-shopify-event-id': id,
        'x-shopify-triggered-at': new Date(at).toISOString(),
      }
    },
  }
}

function encodeSecret(secret: string): Uint8Array {
  if (!TOKEN.test(secret)) return Buffer.from(secret)
  throw new ConfigurationError(
    'secret_unusable',
    'The signing secret is an access token of Shopify. Give the client secret of the app, with which its webhooks are signed.',
  )
}

/** Known words of topics. Others exist, and are accepted as they are. */
const RESOURCES = (
  'app bulk_operations carts checkouts collections companies customers discounts disputes domains draft_orders fulfillment_orders ' +
  'fulfillments inventory_items inventory_levels locales locations markets metaobjects order_transactions orders payment_terms ' +
  'product_listings products profiles refunds returns selling_plan_groups shop subscription_billing_attempts subscription_contracts ' +
  'tender_transactions themes variants'
).split(' ')
const ACTIONS = 'cancelled create data_request delete edited fulfilled paid redact uninstalled update updated'.split(
  ' ',
)

/** The resource and the action of a topic with underscores alone. Most resources end with the first plural. */
const JOINED =
  /^(app(?=_scopes)|app_purchases_one_time|customers_(?:email|marketing)_consent|checkout_and_accounts_configurations|(?:[a-z]+_)*?[a-z]+s(?=_)|[a-z]+)_(.+)$/
/** The topics with a dot. */
const OF_CUSTOMER = /^customer_(joined_segment|left_segment|tags_added|tags_removed)$/

/** Returns the topic of a delivery, `orders/create`, also for `orders.create` and the `ORDERS_CREATE` of the API. */
function spellType(type: string): string {
  const topic = type.replace(/^\/+/, '')
  const words = toSnake(topic.replace(/[./:]+/g, '_'))
  if (OF_CUSTOMER.test(words)) return words.replace('_', '.')
  const isSplit = topic.includes('/')
  const [word, action] = splitOnce(isSplit ? topic : words.replace(JOINED, '$1/$2'), '/')
  const resource = findNearest(toSnake(word), RESOURCES, 1)
  if (resource === undefined && isSplit) return type
  return `${resource ?? word}/${action === '' ? '*' : spellAction(resource, toSnake(action))}`
}

function spellAction(resource: string | undefined, action: string): string {
  const known = findNearest(action, ACTIONS, 1) ?? ACTIONS.find((each) => each === `${action}ed`) ?? action
  // Of all resources, only orders have the participle.
  if (resource === undefined || !/^updated?$/.test(known)) return known
  return resource === 'orders' ? 'updated' : 'update'
}

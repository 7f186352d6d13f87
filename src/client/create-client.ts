import { mayBeModel, SERVICE_EVENT_TYPES, splitType } from '../protocol/events.ts'
import { findLikeType } from '../protocol/find-meant-type.ts'
import {
  closeCalls,
  FLAG,
  HTTP_URL,
  type Kind,
  type Kinds,
  OptionChecker,
  SIGNAL,
  TEXT,
  tellStray,
} from '../protocol/option-checker.ts'
import { show } from '../protocol/show.ts'
import type { CallOptions, Client, NewWebhook, WebhookCalls, WebhookChanges } from './api.ts'
import { readPages } from './read-pages.ts'
import { findIdentified, secretIn, toContact, toDelivery, toWebhook, type Webhook } from './records.ts'
import { ServiceError } from './service-error.ts'
import { createSession } from './session.ts'
import { type ClientOptions, checkOptions, type Settings } from './settings.ts'
import { type Answer, type Send, Transport } from './transport.ts'

const WEBHOOKS = ['api', 'integrations', 'webhooks']
const CONTACTS = ['api', 'sales', 'contacts']

/**
 * Creates a client of the service's API for one user of an account. Opens no connection: the first call logs in.
 *
 * @throws ConfigurationError `option_unknown`, `option_invalid`
 * @example
 * const client = createClient({
 *   baseUrl: process.env.CRM_URL,
 *   email: process.env.CRM_EMAIL,
 *   password: process.env.CRM_PASSWORD,
 * })
 * for await (const contact of client.contacts()) console.log(contact.email)
 */
export function createClient(options: ClientOptions): Client {
  const settings = checkOptions(options)
  const transport = new Transport(settings)
  const session = createSession(transport, settings)
  const send: Send = (call) => transport.send(call, session)
  const calls: Omit<Client, 'clock'> = {
    webhooks: createWebhookCalls(send, settings),
    contacts: (options) => readPages(send, CONTACTS, toContact, ['page'], checkCall('contacts', {}, options)),
    deliveries: (webhookId, options) => {
      const signal = checkCall('deliveries', { webhookId }, options)
      return readPages(send, [...WEBHOOKS, webhookId, 'deliveries'], toDelivery, ['before', 'page'], signal)
    },
    retry: async (webhookId, deliveryId, options) =>
      retry(send, [webhookId, deliveryId], checkCall('retry', { webhookId, deliveryId }, options)),
  }
  return { ...closeCalls('client', calls), clock: settings.clock }
}

function createWebhookCalls(send: Send, settings: Settings): WebhookCalls {
  const get = async (id: string, signal: AbortSignal | undefined) => {
    const answer = await send({ method: 'GET', path: [...WEBHOOKS, id], isRepeatable: true, signal })
    return toWebhookOf(answer)
  }
  /** Updates a webhook. The call is idempotent. Services may answer with an empty body (assumption A03). */
  const update = async (id: string, { url, events, active }: WebhookChanges, signal: AbortSignal | undefined) => {
    const body = { url, events, active }
    const answer = await send({ method: 'PUT', path: [...WEBHOOKS, id], body, isRepeatable: true, signal })
    const webhook = toWebhook(findIdentified(answer.body))
    return webhook?.id === id && webhook.active !== undefined ? webhook : get(id, signal)
  }
  return {
    create: async (webhook, options) => {
      new OptionChecker('client.webhooks.create').mustFit(webhook, NEW_WEBHOOK, ['url', 'events'])
      const signal = checkCall('webhooks.create', {}, options)
      const { url, events, description, active } = webhook
      warnOfTypes(events, settings)
      // Lists the fields one by one, so that nothing else in the object is sent. JSON omits undefined fields.
      const body = { url, events, description, active }
      const answer = await send({ method: 'POST', path: WEBHOOKS, body, isRepeatable: false, signal })
      const created = toWebhookOf(answer)
      const secret = secretIn(answer.body)
      if (secret === undefined)
        throw answer.unusable(`there is no secret in it; webhook ${created.id} was made, and is of no use: delete it`)
      return { webhook: created, secret }
    },
    list: async (options) => {
      const signal = checkCall('webhooks.list', {}, options)
      const webhooks: Webhook[] = []
      for await (const webhook of readPages(send, WEBHOOKS, toWebhook, ['page'], signal)) webhooks.push(webhook)
      return webhooks
    },
    get: async (id, options) => get(id, checkCall('webhooks.get', { id }, options)),
    update: async (id, changes, options) => {
      const signal = checkCall('webhooks.update', { id }, options)
      const check = new OptionChecker('client.webhooks.update')
      check.mustFit(changes, WEBHOOK_CHANGES)
      if (Object.values(changes).every((value) => value === undefined))
        throw check.invalid('changes has no value; give url, events or active.')
      warnOfTypes(changes.events ?? [], settings)
      return update(id, changes, signal)
    },
    pause: async (id, options) => update(id, { active: false }, checkCall('webhooks.pause', { id }, options)),
    resume: async (id, options) => update(id, { active: true }, checkCall('webhooks.resume', { id }, options)),
    delete: async (id, options) => {
      const signal = checkCall('webhooks.delete', { id }, options)
      try {
        await send({ method: 'DELETE', path: [...WEBHOOKS, id], isRepeatable: true, signal })
      } catch (error) {
        // An earlier attempt may have deleted the webhook although its answer was lost.
        if (error instanceof ServiceError && error.code === 'not_found' && (error.attempts ?? 0) > 1) return
        throw error
      }
    },
  }
}

function toWebhookOf(answer: Answer): Webhook {
  const webhook = toWebhook(findIdentified(answer.body))
  if (webhook === undefined) throw answer.unusable('there is no webhook with an id in it')
  return webhook
}

/** Statuses with which services refuse a retry (assumption A14). */
const NOT_RETRIABLE: ReadonlySet<number> = new Set([400, 409, 410, 422])

async function retry(send: Send, ids: readonly [webhook: string, delivery: string], signal: AbortSignal | undefined) {
  const path = [...WEBHOOKS, ids[0], 'retry', ids[1]]
  try {
    const answer = await send({ method: 'POST', path, isRepeatable: false, signal })
    return { delivery: toDelivery(findIdentified(answer.body)) }
  } catch (error) {
    if (error instanceof ServiceError && NOT_RETRIABLE.has(error.status ?? 0))
      throw new ServiceError('not_retriable', `${error.message}. Only a failed delivery can be retried.`, error)
    throw error
  }
}

/** An id becomes a segment of a path: an empty id, or one of dots, would change the path. */
const ID: Kind = (value) =>
  typeof value === 'string' && !/^\.{0,2}$/.test(value)
    ? undefined
    : 'the id of a webhook or delivery, as the service wrote it'
export const WEBHOOK_URL: Kind = (value) => TEXT(value) ?? HTTP_URL(value)
export const EVENT_TYPES: Kind = (value) => {
  const told = 'a list of at least one event type'
  const stray = tellStray(value, told, (type) => typeof type === 'string' && type !== '')
  if (stray !== undefined || !Array.isArray(value) || value.length === 0) return stray ?? told
  const joined = value.find((type) => /[\s,]/.test(type))
  return joined && `each type by itself, without blanks and commas, not ${show(joined)}`
}
const WEBHOOK_CHANGES: Kinds<WebhookChanges> = {
  url: WEBHOOK_URL,
  events: EVENT_TYPES,
  active: FLAG,
}
const NEW_WEBHOOK: Kinds<NewWebhook> = { ...WEBHOOK_CHANGES, description: TEXT }

/** Checks the ids and the options of a call, and returns its signal. */
function checkCall(name: string, ids: object, options: CallOptions = {}): AbortSignal | undefined {
  const check = new OptionChecker(`client.${name}`)
  for (const [argument, id] of Object.entries(ids)) check.mustBe(argument, id, ID)
  check.mustFit(options, { signal: SIGNAL })
  return options.signal
}

function warnOfTypes(events: readonly string[], { logger }: Settings): void {
  const unknown = events.filter((type) => !isDocumented(type))
  if (unknown.length === 0) return
  const meant = unknown.map((type) => findLikeType(type)).filter((type) => type !== undefined)
  const fix = meant.length === 0 ? '' : `; did you mean ${meant.join(', ')}?`
  logger.warn({ types: unknown }, `these event types are not documented by the service, and may never be sent${fix}`)
}

/** Returns false for a type that the service does not document, or whose model resembles a known one. */
function isDocumented(type: string): boolean {
  const model = splitType(type)?.model
  if (model === undefined) return SERVICE_EVENT_TYPES.some((known) => known === type)
  return mayBeModel(model) && findLikeType(type) === undefined
}

import { ConfigurationError } from '../protocol/errors.ts'
import { SERVICE_EVENT_TYPES, splitType } from '../protocol/events.ts'
import type { CallOptions, Client, WebhookCalls, WebhookChanges } from './api.ts'
import { type Guess, readPages } from './read-pages.ts'
import { findIdentified, secretIn, toContact, toDelivery, toWebhook, type Webhook } from './records.ts'
import { ServiceError } from './service-error.ts'
import { Session } from './session.ts'
import { type ClientOptions, checkOptions, type Settings } from './settings.ts'
import { type Answer, type Call, Transport } from './transport.ts'

const WEBHOOKS = ['api', 'integrations', 'webhooks']
const CONTACTS = ['api', 'sales', 'contacts']

type Send = (call: Call) => Promise<Answer>

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
  const session = new Session(transport, settings)
  const send: Send = (call) => transport.send(call, session)
  return {
    webhooks: createWebhookCalls(send, settings),
    contacts: ({ signal } = {}) => list(send, CONTACTS, toContact, ['page'], signal),
    deliveries: (webhookId, { signal } = {}) =>
      list(send, [...WEBHOOKS, checkId(webhookId), 'deliveries'], toDelivery, ['before', 'page'], signal),
    retry: (webhookId, deliveryId, { signal } = {}) => retry(send, webhookId, deliveryId, signal),
    clock: settings.clock,
  }
}

function createWebhookCalls(send: Send, settings: Settings): WebhookCalls {
  const get = async (id: string, { signal }: CallOptions = {}) => {
    const answer = await send({ method: 'GET', path: [...WEBHOOKS, checkId(id)], isRepeatable: true, signal })
    return toWebhookOf(answer)
  }
  /** Updates a webhook. The call is idempotent. Services may answer with an empty body (assumption A03). */
  const update = async (id: string, { url, events, active }: WebhookChanges, { signal }: CallOptions = {}) => {
    if (url !== undefined) checkUrl(url)
    if (events !== undefined) checkEvents(events, settings)
    const body = { url, events, active }
    const answer = await send({ method: 'PUT', path: [...WEBHOOKS, checkId(id)], body, isRepeatable: true, signal })
    const webhook = toWebhook(findIdentified(answer.body))
    return webhook?.id === id && webhook.active !== undefined ? webhook : get(id, { signal })
  }
  return {
    create: async ({ url, events, description, active }, { signal } = {}) => {
      checkUrl(url)
      checkEvents(events, settings)
      // Lists the fields one by one, so that nothing else in the object is sent. JSON omits undefined fields.
      const body = { url, events, description, active }
      const answer = await send({ method: 'POST', path: WEBHOOKS, body, isRepeatable: false, signal })
      const webhook = toWebhookOf(answer)
      const secret = secretIn(answer.body)
      if (secret === undefined)
        throw answer.unusable(`there is no secret in it; webhook ${webhook.id} was made, and is of no use: delete it`)
      return { webhook, secret }
    },
    list: async ({ signal } = {}) => {
      const webhooks: Webhook[] = []
      for await (const webhook of list(send, WEBHOOKS, toWebhook, ['page'], signal)) webhooks.push(webhook)
      return webhooks
    },
    get,
    update,
    pause: (id, options) => update(id, { active: false }, options),
    resume: (id, options) => update(id, { active: true }, options),
    delete: async (id, { signal } = {}) => {
      try {
        await send({ method: 'DELETE', path: [...WEBHOOKS, checkId(id)], isRepeatable: true, signal })
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

function list<T extends { readonly id: string }>(
  send: Send,
  path: readonly string[],
  toRecord: (item: unknown) => T | undefined,
  guesses: readonly Guess[],
  signal: AbortSignal | undefined,
): AsyncIterable<T> {
  return readPages((query) => send({ method: 'GET', path, query, isRepeatable: true, signal }), toRecord, guesses)
}

/** Statuses with which services refuse a retry (assumption A14). */
const NOT_RETRIABLE: ReadonlySet<number> = new Set([400, 409, 410, 422])

async function retry(send: Send, webhookId: string, deliveryId: string, signal: AbortSignal | undefined) {
  const path = [...WEBHOOKS, checkId(webhookId), 'retry', checkId(deliveryId)]
  try {
    const answer = await send({ method: 'POST', path, isRepeatable: false, signal })
    return { delivery: toDelivery(findIdentified(answer.body)) }
  } catch (error) {
    if (error instanceof ServiceError && NOT_RETRIABLE.has(error.status ?? 0))
      throw new ServiceError('not_retriable', `${error.message}. Only a failed delivery can be retried.`, error)
    throw error
  }
}

const invalid = (message: string) => new ConfigurationError('option_invalid', message)

/** Checks an id, which becomes a segment of a path: an empty id, or one of dots, would change the path. */
function checkId(id: string | undefined): string {
  if (id !== undefined && !/^\.{0,2}$/.test(id)) return id
  throw invalid('The id of a webhook or delivery is empty, or a path.')
}

function checkUrl(url: unknown): void {
  if (typeof url !== 'string' || !URL.canParse(url)) throw invalid('url has to be an absolute URL.')
}

function checkEvents(events: unknown, { logger }: Settings): void {
  if (!Array.isArray(events) || events.length === 0 || !events.every((type) => typeof type === 'string' && type !== ''))
    throw invalid('events has to be a list of at least one event type.')
  const documented: readonly string[] = SERVICE_EVENT_TYPES
  const unknown = events.filter(
    (type) => type.includes('*') || (splitType(type) === undefined && !documented.includes(type)),
  )
  if (unknown.length > 0)
    logger.warn({ types: unknown }, 'these event types are not documented by the service, and may never be sent')
}

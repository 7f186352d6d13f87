import type { Emulator, OfAccount } from './emulator-api.ts'
import { Refusal } from './refusal.ts'
import type { Service } from './service.ts'
import type { WebhookChange } from './webhooks.ts'

type Handles = Pick<Emulator, 'accounts' | 'webhooks' | 'deliveries' | 'records' | 'events' | 'login'>

/** Methods for code in the same process. */
export function createHandles(service: Service): Handles {
  const { accounts, webhooks, deliveries, log, engine, records, events, tokens } = service
  const keyOf = (options: OfAccount | undefined) => accounts.get(options?.accountKey).key
  const find = (id: string) => {
    const webhook = webhooks.find(id)
    if (webhook === undefined) throw new Refusal('unknown', 'there is no such webhook')
    return webhook
  }
  const update = (id: string, fields: WebhookChange) => {
    const webhook = webhooks.update(find(id).accountKey, id, fields)
    if (webhook.active) engine.resume()
    return webhook
  }
  return {
    accounts: { list: () => accounts.list(), add: (account) => accounts.add(account) },
    webhooks: {
      create: (fields, options) => webhooks.create(keyOf(options), fields, options?.secret),
      list: (options) => webhooks.list(options?.accountKey),
      get: find,
      update,
      pause: (id) => update(id, { active: false }),
      resume: (id) => update(id, { active: true }),
      delete: (id) => {
        service.deleteWebhook(find(id).accountKey, id)
      },
    },
    deliveries: {
      list: ({ webhookId, eventId } = {}) =>
        log.list(webhookId).filter((delivery) => eventId === undefined || delivery.eventId === eventId),
      get: (id) => deliveries.get(id),
      retry(id) {
        const { accountKey, webhookId } = deliveries.get(id)
        return deliveries.retry(accountKey, webhookId, id)
      },
      resend: (id, options) => deliveries.resend(id, options),
      whenIdle: () => engine.whenIdle(),
    },
    records: {
      list: (model, options) => records.list(keyOf(options), model),
      get: (model, id, options) => records.get(keyOf(options), model, id),
      create: (model, fields = {}, options) => records.create(keyOf(options), model, fields),
      update: (model, id, fields, options) => records.update(keyOf(options), model, id, fields),
      delete: (model, id, options) => records.delete(keyOf(options), model, id),
    },
    events: {
      emit(event, options) {
        const [emitted] = events.emit(keyOf(options), event)
        if (emitted === undefined) throw new Refusal('fault', 'nothing was emitted')
        return emitted
      },
      emitMany: (event, count, options) => events.emit(keyOf(options), event, count),
      sampleOf: (type) => events.sampleOf(type),
    },
    login: async (options) => (await tokens.issue(accounts.get(options?.accountKey))).accessToken,
  }
}

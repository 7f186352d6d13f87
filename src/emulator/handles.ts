import * as z from 'zod'
import {
  account as accountShape,
  checkInput,
  eventShape,
  resendShape,
  webhookChangeShape,
  webhookShape,
} from './check-input.ts'
import type { Emulator, OfAccount } from './emulator-api.ts'
import { Refusal } from './refusal.ts'
import { LIMITS, type Service } from './service.ts'
import type { WebhookChange } from './webhooks.ts'

type Handles = Pick<Emulator, 'accounts' | 'webhooks' | 'deliveries' | 'records' | 'events' | 'login'>

const COUNT = `count must be a whole number from 1 to ${LIMITS.deliveriesPending}`
const countShape = z.number(COUNT).int(COUNT).min(1, COUNT).max(LIMITS.deliveriesPending, COUNT)
const fieldsShape = z.record(z.string(), z.unknown())

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
    const webhook = webhooks.update(find(id).accountKey, id, checkInput(fields, webhookChangeShape))
    if (webhook.active) engine.resume()
    return webhook
  }
  const emitMany: Handles['events']['emitMany'] = (event, count, options) =>
    events.emit(keyOf(options), checkInput(event, eventShape), checkInput(count, countShape))
  return {
    accounts: { list: () => accounts.list(), add: (account) => accounts.add(checkInput(account, accountShape)) },
    webhooks: {
      create: (fields, options) => webhooks.create(keyOf(options), checkInput(fields, webhookShape), options?.secret),
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
      resend: (id, options = {}) => deliveries.resend(id, checkInput(options, resendShape)),
      whenIdle: () => engine.whenIdle(),
    },
    records: {
      list: (model, options) => records.list(keyOf(options), model),
      get: (model, id, options) => records.get(keyOf(options), model, id),
      create: (model, fields = {}, options) => records.create(keyOf(options), model, checkInput(fields, fieldsShape)),
      update: (model, id, fields, options) =>
        records.update(keyOf(options), model, id, checkInput(fields, fieldsShape)),
      delete: (model, id, options) => records.delete(keyOf(options), model, id),
    },
    events: {
      emit(event, options) {
        const [emitted] = emitMany(event, 1, options)
        if (emitted === undefined) throw new Refusal('fault', 'nothing was emitted')
        return emitted
      },
      emitMany,
      sampleOf: (type) => events.sampleOf(type),
    },
    login: async (options) => (await tokens.issue(accounts.get(options?.accountKey))).accessToken,
  }
}

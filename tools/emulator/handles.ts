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
const typeShape = z.string('a type is text')
const accountFields = { accountKey: z.string().optional() }
const ofAccountShape = z.strictObject(accountFields).optional()
const creationShape = z.strictObject({ ...accountFields, secret: z.string().optional() }).optional()
const filterShape = z.strictObject({ webhookId: z.string().optional(), eventId: z.string().optional() })

export function createHandles(service: Service): Handles {
  const { accounts, webhooks, deliveries, engine, records, events, tokens } = service
  const keyOf = (options: OfAccount | undefined) => accounts.get(checkInput(options, ofAccountShape)?.accountKey).key
  // Returns copies, so that a caller who changes an object does not change the emulator.
  const give = <T>(value: T): T => structuredClone(value)
  const update = (id: string, fields: WebhookChange) => {
    const webhook = webhooks.update(undefined, id, checkInput(fields, webhookChangeShape))
    if (webhook.active) engine.resume()
    return give(webhook)
  }
  const emitMany: Handles['events']['emitMany'] = (event, count, options) =>
    events.emit(keyOf(options), checkInput(event, eventShape), checkInput(count, countShape))
  return {
    accounts: { list: () => accounts.list(), add: (account) => accounts.add(checkInput(account, accountShape)) },
    webhooks: {
      create(fields, options) {
        const { accountKey, secret } = checkInput(options, creationShape) ?? {}
        return give(webhooks.create(accounts.get(accountKey).key, checkInput(fields, webhookShape), secret))
      },
      list(options) {
        const { accountKey } = checkInput(options, ofAccountShape) ?? {}
        return give(webhooks.list(accountKey === undefined ? undefined : accounts.get(accountKey).key))
      },
      get: (id) => give(webhooks.get(undefined, id)),
      update,
      pause: (id) => update(id, { active: false }),
      resume: (id) => update(id, { active: true }),
      delete: (id) => {
        service.deleteWebhook(undefined, id)
      },
    },
    deliveries: {
      list: (filter = {}) => deliveries.list(checkInput(filter, filterShape)),
      get: (id) => deliveries.get(id),
      retry(id) {
        const { accountKey, webhookId } = deliveries.get(id)
        return deliveries.retry(accountKey, webhookId, id)
      },
      resend: (id, options = {}) => deliveries.resend(id, checkInput(options, resendShape)),
      whenIdle: () => engine.whenIdle(),
    },
    records: {
      list: (model, options) => give(records.list(keyOf(options), model)),
      get: (model, id, options) => give(records.get(keyOf(options), model, id)),
      create: (model, fields = {}, options) =>
        give(records.create(keyOf(options), model, checkInput(fields, fieldsShape))),
      update: (model, id, fields, options) =>
        give(records.update(keyOf(options), model, id, checkInput(fields, fieldsShape))),
      delete: (model, id, options) => records.delete(keyOf(options), model, id),
    },
    events: {
      emit(event, options) {
        const [emitted] = emitMany(event, 1, options)
        if (emitted === undefined) throw new Refusal('fault', 'nothing was emitted')
        return emitted
      },
      emitMany,
      sampleOf: (type) => events.sampleOf(checkInput(type, typeShape)),
    },
    login: async (options) => (await tokens.issue(accounts.get(keyOf(options)))).accessToken,
  }
}

import * as z from 'zod'
import { isPlain } from '../../src/protocol/copy-plain.ts'
import { findSpelling, splitType } from '../../src/protocol/events.ts'
import { findMeantModel, findMeantType } from '../../src/protocol/find-meant-type.ts'
import { parseTime } from '../../src/protocol/iso-time.ts'
import { account as accountShape, checkInput, eventFields, must, resendShape, webhookFields } from './check-input.ts'
import type { Emulator, OfAccount } from './emulator-api.ts'
import type { EventInput } from './events.ts'
import { LIMITS } from './limits.ts'
import { Refusal } from './refusal.ts'
import type { Service } from './service.ts'
import { isServiceEventType } from './subscription.ts'
import type { WebhookChange } from './webhooks.ts'

const OF_EVENT = 'that is the id of an event; emit() returns those of its deliveries'
const MISPLACED = "records.create('contact', { email: 'zoe@example.test' }, { accountKey: 'globex' })"

export type Handles = Pick<Emulator, 'accounts' | 'webhooks' | 'deliveries' | 'records' | 'events' | 'login'>

const COUNT = must(`a whole number from 1 to ${LIMITS.deliveriesPending}`)
const countShape = z.number(COUNT).int(COUNT).min(1, COUNT).max(LIMITS.deliveriesPending, COUNT)
const fieldsShape = z.record(z.string(), z.unknown())
const textShape = z.string()
const accountFields = { accountKey: z.string().optional() }
const ofAccountShape = z.strictObject(accountFields).optional()
const creationShape = z.strictObject({ ...accountFields, secret: z.string().optional() }).optional()
const filterShape = z.strictObject({ webhookId: z.string().optional(), eventId: z.string().optional() })
const newWebhookShape = z.strictObject(webhookFields)
const changeShape = newWebhookShape.partial()
// As the builders of postern/testing make it, with the fields that handlers get besides.
const eventShape = z.strictObject({
  ...eventFields,
  ...accountFields,
  model: z.string().optional(),
  action: z.string().optional(),
})

/** Refuses an event that the service could not send. A body that it could not send goes with `deliveries.resend`. */
function mustBeEvent(place: string, { type, data, timestamp, model, action }: z.infer<typeof eventShape>): void {
  const about = splitType(type)
  const refuse = (why: string) => new Refusal('invalid', `${place}: ${why}`)
  if (/\s/.test(type)) throw refuse(`type: "${type}" has a blank`)
  if (timestamp !== undefined && Number.isNaN(parseTime(timestamp))) throw refuse(`timestamp: must be ISO 8601`)
  if ((model ?? about?.model) !== about?.model || (action ?? about?.action) !== about?.action)
    throw refuse(`model, action: must be those of the type "${type}", or left out`)
  if (data === undefined) return
  if (!isPlain(data) || Array.isArray(data)) throw refuse('data: must be an object')
  if (about !== undefined && typeof Object(Object(data).record)._id !== 'string')
    throw refuse(`data: must be { record: { _id, … } } for "${type}"`)
}

/** Refuses the id of an event in the place of that of a webhook, the reverse, and the id of a delivery. */
function checkFilter({ webhooks, log }: Service, filter: object): z.infer<typeof filterShape> {
  const wanted = checkInput(filter, filterShape, 'deliveries.list: filter')
  for (const [name, id] of Object.entries(wanted)) {
    if (id === '')
      throw new Refusal('invalid', `deliveries.list: ${name} is empty; leave it out to list all, or give the id`)
    if (log.find(String(id)) !== undefined)
      throw new Refusal('invalid', `deliveries.list: ${name} is the id of a delivery; give it to deliveries.get()`)
  }
  if (wanted.webhookId?.startsWith('evt_'))
    throw new Refusal('invalid', 'deliveries.list: webhookId is the id of an event; give it as eventId')
  if (webhooks.find(wanted.eventId ?? '') !== undefined)
    throw new Refusal('invalid', 'deliveries.list: eventId is the id of a webhook; give it as webhookId')
  return wanted
}

export function createHandles(service: Service): Handles {
  const { accounts, webhooks, deliveries, engine, events, tokens } = service
  const keyOf = (method: string, options: OfAccount | undefined, otherwise?: string) =>
    accounts.get(checkInput(options, ofAccountShape, `${method}: options`)?.accountKey ?? otherwise).key
  const text = (method: string, name: string, value: string) => checkInput(value, textShape, `${method}: ${name}`)
  // Returns copies, so that a caller who changes an object does not change the emulator.
  const give = <T>(value: T): T => structuredClone(value)
  const update = (method: string, id: string, fields: WebhookChange) => {
    const changes = checkInput(fields, changeShape, `${method}: fields`)
    if (Object.keys(changes).length === 0)
      throw new Refusal('invalid', `${method}: fields: give url, events, description or active`)
    const webhook = webhooks.update(undefined, text(method, 'id', id), changes)
    if (webhook.active) engine.resume()
    return give(webhook)
  }
  const emit = (method: string, event: EventInput, count: number, options: OfAccount | undefined) => {
    const given = checkInput(event, eventShape, `${method}: event`)
    mustBeEvent(`${method}: event`, given)
    const { accountKey, ...input } = given
    return events.emit(keyOf(method, options, accountKey), input, checkInput(count, countShape, `${method}: count`))
  }
  const findDelivery = (method: string, id: string) => {
    if (text(method, 'id', id).startsWith('evt_')) throw new Refusal('unknown', `${method}: ${OF_EVENT}`)
    return deliveries.get(id)
  }
  return {
    accounts: {
      list: () => accounts.list(),
      add: (account) => accounts.add(checkInput(account, accountShape, 'accounts.add: account')),
    },
    webhooks: {
      create(fields, options) {
        const { accountKey, secret } = checkInput(options, creationShape, 'webhooks.create: options') ?? {}
        const wanted = checkInput(fields, newWebhookShape, 'webhooks.create: fields')
        return give(webhooks.create(accounts.get(accountKey).key, wanted, secret))
      },
      list(options) {
        const { accountKey } = checkInput(options, ofAccountShape, 'webhooks.list: options') ?? {}
        return give(webhooks.list(accountKey === undefined ? undefined : accounts.get(accountKey).key))
      },
      get: (id) => give(webhooks.get(undefined, text('webhooks.get', 'id', id))),
      update: (id, fields) => update('webhooks.update', id, fields),
      pause: (id) => update('webhooks.pause', id, { active: false }),
      resume: (id) => update('webhooks.resume', id, { active: true }),
      delete: (id) => {
        service.deleteWebhook(undefined, text('webhooks.delete', 'id', id))
      },
    },
    deliveries: {
      list: (filter = {}) => deliveries.list(checkFilter(service, filter)),
      get: (id) => findDelivery('deliveries.get', id),
      retry(id) {
        const { accountKey, webhookId } = findDelivery('deliveries.retry', id)
        return deliveries.retry(accountKey, webhookId, id)
      },
      resend(id, options = {}) {
        const wanted = checkInput(options, resendShape, 'deliveries.resend: options')
        return deliveries.resend(findDelivery('deliveries.resend', id).id, wanted)
      },
      whenIdle: () => engine.whenIdle(),
    },
    records: createRecordHandles(service),
    events: {
      emit(event, options) {
        const [emitted] = emit('events.emit', event, 1, options)
        if (emitted === undefined) throw new Refusal('fault', 'nothing was emitted')
        return emitted
      },
      emitMany: (event, count, options) => emit('events.emitMany', event, count, options),
      sampleOf(type) {
        const meant =
          findMeantType(text('events.sampleOf', 'type', type)) ?? (type.includes('.') ? undefined : `${type}.created`)
        if (meant === undefined || isServiceEventType(type)) return events.sampleOf(type)
        throw new Refusal('invalid', `events.sampleOf: there is no type "${type}"; did you mean ${meant}?`)
      },
    },
    login: async (options) => (await tokens.issue(accounts.get(keyOf('login', options)))).accessToken,
  }
}

function createRecordHandles({ accounts, records }: Service): Handles['records'] {
  const place = (method: string, given: Readonly<Record<string, string>>, options: OfAccount | undefined) => {
    for (const [name, value] of Object.entries(given)) checkInput(value, textShape, `records.${method}: ${name}`)
    const spelling = findSpelling(given.model ?? '')
    if (spelling !== undefined) throw new Refusal('invalid', `records.${method}: model: did you mean ${spelling}?`)
    return accounts.get(checkInput(options, ofAccountShape, `records.${method}: options`)?.accountKey).key
  }
  // Returns the fields themselves: the shape would leave out one with the name __proto__.
  const check = (method: string, fields: Readonly<Record<string, unknown>>) => {
    checkInput(fields, fieldsShape, `records.${method}: fields`)
    return fields
  }
  const give = <T>(value: T): T => structuredClone(value)
  return {
    list(model, options) {
      const found = records.list(place('list', { model }, options), model)
      const meant = found.length > 0 ? undefined : findMeantModel(model)
      if (meant === undefined) return give(found)
      throw new Refusal('invalid', `records.list: there are no records of a model "${model}"; did you mean ${meant}?`)
    },
    get: (model, id, options) => give(records.get(place('get', { model, id }, options), model, id)),
    create(model, fields = {}, options) {
      const accountKey = place('create', { model }, options)
      const names = Object.keys(Object(fields))
      const misplaced = ['accountKey', 'record', 'data'].find(
        (name) => names.includes(name) && (name !== 'data' || (names.length === 1 && isPlain(fields[name]))),
      )
      if (misplaced !== undefined)
        throw new Refusal('invalid', `records.create: fields: ${misplaced} is no field: ${MISPLACED}`)
      return give(records.create(accountKey, model, check('create', fields)))
    },
    update: (model, id, fields, options) =>
      give(records.update(place('update', { model, id }, options), model, id, check('update', fields))),
    delete: (model, id, options) => records.delete(place('delete', { model, id }, options), model, id),
  }
}

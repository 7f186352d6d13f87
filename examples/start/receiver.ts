import { createReceiver, type ReceiverOptions, record } from 'postern'
import { contact } from 'postern/models'

/** A model of your own that you trust the sender with: types only. A zod, valibot or arktype schema checks it as well. */
interface Opportunity {
  readonly _id: string
  readonly title: string
  readonly amount: number
}

const models = { contact, opportunity: record<Opportunity>() }

/** What the handlers work on; your database, in an app. */
export interface Crm {
  saveContact(id: string, email: string | null | undefined): Promise<void>
  removeFromIndex(model: string, id: string): Promise<void>
  forecast(title: string, amount: number): Promise<void>
  alert(text: string): Promise<void>
}

type Hooks = Pick<ReceiverOptions<typeof models, object>, 'onOutcome' | 'logger'>

/** The receiver of this example: everything that is about events and nothing that is about HTTP. */
export function buildReceiver(secret: string | undefined, crm: Crm, hooks: Hooks = {}) {
  return createReceiver({ secret, models, ...hooks })
    .on('contact.created', async (event) => {
      await crm.saveContact(event.data.record._id, event.data.record.email)
    })
    .on('contact.updated', async ({ data: { record } }) => {
      await crm.saveContact(record._id, record.email)
    })
    .on('opportunity.created', async ({ data: { record } }) => {
      await crm.forecast(record.title, record.amount)
    })
    .on('*.deleted', { name: 'search-index' }, async (event) => {
      await crm.removeFromIndex(event.model, event.data.record._id)
    })
    .on('finance.payment.failed', async (event) => {
      await crm.alert(`payment failed: ${JSON.stringify(event.data)}`)
    })
}

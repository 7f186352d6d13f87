import { createReceiver, type Logger } from 'postern'
import { contact } from 'postern/models'

/** What the handlers work on; your database, in an app. */
export interface Work {
  saveContact(id: string, email: string | null | undefined): Promise<void>
  removeContact(id: string): Promise<void>
  alert(text: string): Promise<void>
}

/** The receiver of this example: everything that is about events, and nothing that is about HTTP. */
export function buildReceiver(secret: () => string | undefined, work: Work, logger: Logger) {
  return createReceiver({ secret, logger, models: { contact } })
    .on('contact.created', ({ data: { record } }) => work.saveContact(record._id, record.email))
    .on('contact.updated', ({ data: { record } }) => work.saveContact(record._id, record.email))
    .on('contact.deleted', ({ data: { record } }) => work.removeContact(record._id))
    .on('finance.payment.failed', ({ data }) => work.alert(`payment failed: ${JSON.stringify(data)}`))
}

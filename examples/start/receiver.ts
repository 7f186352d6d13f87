import { createReceiver, type Logger } from 'postern'
import { contact } from 'postern/models'

/** The data that the handlers work on; your database, in an app. */
export interface Work {
  saveContact(id: string, email: string | null | undefined): Promise<void>
  removeContact(id: string): Promise<void>
  alert(text: string): Promise<void>
}

/** The receiver of this example: all code about events, and none about HTTP. */
export function buildReceiver(secret: () => string | undefined, work: Work, logger: Logger) {
  return createReceiver({ secret, logger, models: { contact } })
    .on('contact.created', ({ data: { record } }) => work.saveContact(record._id, record.email))
    .on('contact.updated', ({ data: { record } }) => work.saveContact(record._id, record.email))
    .on('contact.deleted', ({ data: { record } }) => work.removeContact(record._id))
    .on('finance.payment.failed', ({ data }) => work.alert(`payment failed: ${JSON.stringify(data)}`))
}

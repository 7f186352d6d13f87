import type { OpenData, ServiceEventType } from '../../src/protocol/events.ts'

/** Sample `data` of the events that the service does not describe, and the fields of a sample contact. */
export const SAMPLES: Readonly<Record<'contact' | ServiceEventType, OpenData>> = {
  contact: { firstName: 'Zoë', lastName: 'Okafor', email: 'zoe@example.test', status: 'active' },
  'finance.payment.completed': { paymentId: 'pay_1', amount: 129.5, currency: 'EUR' },
  'finance.payment.failed': { paymentId: 'pay_2', amount: 129.5, currency: 'EUR', reason: 'card_declined' },
  'sync.completed': { vendor: 'ledger', records: 42 },
  'sync.failed': { vendor: 'ledger', error: 'vendor timed out' },
  'import.completed': { jobId: 'imp_1', imported: 120, skipped: 3 },
  'export.completed': { jobId: 'exp_1', rows: 120 },
}

import type { EventPlan } from './plan.ts'

/** A part of every record, which must never be in a log line or a hook's argument. */
export const PRIVATE = 'private-'

/** The event as the service sends it. */
export function toEnvelope({ id, account, type, number }: EventPlan) {
  const isAboutRecord = /^(contact|invoice)\./.test(type)
  const data = isAboutRecord
    ? { record: { _id: `record-${number}`, email: `${PRIVATE}${number}@example.test`, note: 'as sent' } }
    : { batch: number }
  return { id, type, timestamp: '2025-01-01T00:00:00.000Z', accountKey: account, data }
}

/** The exact body of every delivery of the event. */
export function toBody(event: EventPlan): string {
  let body = bodies.get(event)
  if (body === undefined) {
    body = JSON.stringify(toEnvelope(event))
    bodies.set(event, body)
  }
  return body
}

const bodies = new WeakMap<EventPlan, string>()

import type { EventPlan } from './plan.ts'

/** A part of every record, which must never be in a log line or a hook's argument. */
export const PRIVATE = 'private-'

/** Returns the address in the record of an event, which no other has. */
export function toEmail(number: number): string {
  return `${PRIVATE}${number}@example.test`
}

/** Returns the event in the service's form. */
export function toEnvelope({ id, account, type, number, record, timestamp }: EventPlan) {
  const isAboutRecord = /^(contact|invoice)\./.test(type)
  const data = isAboutRecord ? { record: { _id: record, email: toEmail(number), note: 'as sent' } } : { batch: number }
  return { id, type, timestamp, accountKey: account, data }
}

/** Returns the exact body of every delivery of the event. */
export function toBody(event: EventPlan): string {
  let body = bodies.get(event)
  if (body === undefined) {
    body = JSON.stringify(toEnvelope(event))
    bodies.set(event, body)
  }
  return body
}

const bodies = new WeakMap<EventPlan, string>()

import type { Action, ServiceEventType } from './events.ts'

/** What can happen to a record. */
export const ACTIONS: readonly Action[] = ['created', 'updated', 'deleted']

/** The types that the service names beside `{model}.{action}`. Service text, section 6. */
export const SERVICE_EVENT_TYPES: readonly ServiceEventType[] = [
  'finance.payment.completed',
  'finance.payment.failed',
  'sync.completed',
  'sync.failed',
  'import.completed',
  'export.completed',
]

/** Model and action of an event type that is about a record: one dot, and one of the three actions behind it. */
export function splitType(type: string): { readonly model: string; readonly action: Action } | undefined {
  const dot = type.indexOf('.')
  const action = ACTIONS.find((candidate) => candidate === type.slice(dot + 1))
  return dot > 0 && action !== undefined ? { model: type.slice(0, dot), action } : undefined
}

import { AsyncLocalStorage } from 'node:async_hooks'
import type { EventPlan } from './plan.ts'
import type { World } from './world.ts'

/** The event of the delivery in whose async context code runs. */
export const contextOfDelivery = new AsyncLocalStorage<object | undefined>()

/** Checks that code of the app runs in the async context of a delivery of the event that it is about. A worker's code has none. */
export function judgeContext({ findings, inbox }: World, event: EventPlan | undefined, what: string): void {
  const found = contextOfDelivery.getStore()
  if (event === undefined || found === event || (found === undefined && inbox !== undefined)) return
  const where = found === undefined ? 'of no delivery' : 'of a delivery of another event'
  findings.add('foreign context', `${what} for event ${event.number} was called in the context ${where}`)
}

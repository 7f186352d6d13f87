import type { AnyEvent } from 'postern'
import type { Life } from './life.ts'
import { toEnvelope } from './messages.ts'
import type { EventPlan } from './plan.ts'
import type { World } from './world.ts'

/** Compares the event that a handler got with the one that the sender signed. Returns the event of the plan, if there is one. */
export function checkEvent(world: World, life: Life, handler: string, event: AnyEvent): EventPlan | undefined {
  const known = world.history.find(event.id, event.accountKey)
  if (known === undefined) {
    world.findings.add('unsigned event handled', `${handler} in ${life.name} got an event with the id "${event.id}"`)
    return undefined
  }
  const { data, ...sent } = toEnvelope(known)
  const [model, action] = known.type.split('.')
  const isAboutRecord = data.record !== undefined
  const isChecked = isAboutRecord && world.plan.settings.schema !== 'none' && action !== 'deleted'
  const expected = isAboutRecord
    ? { ...sent, data: { record: { ...data.record, ...(isChecked && { checked: true }) } }, model, action }
    : { ...sent, data }
  const [wanted, got] = [toText(expected), toText(event)]
  if (wanted === got) return known
  const rule = got.includes('forged') ? 'unsigned event handled' : 'event changed'
  world.findings.add(rule, `${handler} in ${life.name} got ${got} instead of ${wanted}`)
  return known
}

/** Writes an event with its fields in one order. */
function toText(event: object): string {
  const { data, ...fields } = { data: {}, ...event }
  const parts = Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify([...parts, ['data', data]])
}

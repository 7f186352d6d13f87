import type { InboxPlan } from './inbox/inbox-plan.ts'
import { type EventPlan, type FaultPlan, type HandlerPlan, nameOf, type Plan } from './plan.ts'
import { showTime } from './trace.ts'

/** Returns a plan in words, one line for each element. */
export function describePlan(plan: Plan): readonly string[] {
  const { seed, engine, settings, inbox, secrets, clockSkewsMs, handlers, events, intruders, faults } = plan
  return [
    `seed ${seed}: ${clockSkewsMs.length} processes on the engine "${engine}"`,
    `settings: ${toWords(settings)}`,
    ...(inbox === undefined ? [] : describeInbox(inbox)),
    `secrets: ${toWords(secrets)}`,
    `handlers: ${describeHandlers(handlers)}`,
    ...events.map(describeEvent),
    ...intruders.map(({ number, at, ...rest }) => `intruder ${number} at ${showTime(at)}: ${toWords(rest)}`),
    ...faults.map(describeFault),
  ]
}

function describeInbox({ roles, work, once, acts }: InboxPlan): readonly string[] {
  return [
    `inbox: ${toWords({ roles, ...work, ...once })}`,
    ...acts.map(({ kind, at, ...rest }) => `${kind} at ${showTime(at)}: ${toWords(rest)}`),
  ]
}

function describeEvent({ number, id, account, type, record, timestamp, ...event }: EventPlan): string {
  const { at, duplicatesAfterMs, lostAnswers, troubles } = event
  const parts = [
    `event ${number} at ${showTime(at)}: ${type} ${id} of ${account}, ${record} at "${timestamp}"`,
    ...(duplicatesAfterMs.length > 0 ? [`duplicates after ${duplicatesAfterMs.join(', ')} ms`] : []),
    ...(lostAnswers.length > 0
      ? [`the answers to attempts ${lostAnswers.map((attempt) => attempt + 1).join(', ')} are lost`]
      : []),
    ...troubles.map(
      ({ handler, run, behaviour, mutates }) =>
        `run ${run} of ${handler}: ${toWords(behaviour)}${mutates ? ', changes its event' : ''}`,
    ),
  ]
  return parts.join('; ')
}

function describeFault({ kind, at, ...rest }: FaultPlan): string {
  const words = 'handlers' in rest ? `${describeHandlers(rest.handlers)}, graceful: ${rest.isGraceful}` : toWords(rest)
  return `fault at ${showTime(at)}: ${kind}, ${words}`
}

function describeHandlers(handlers: readonly HandlerPlan[]): string {
  return handlers
    .map(
      (plan) =>
        `${nameOf(plan)} on ${plan.pattern}${plan.isTransactional ? ' in a transaction' : ''}${plan.isOrdered ? ', the latest only' : ''}`,
    )
    .join(', ')
}

function toWords(fields: object): string {
  return Object.entries(fields)
    .filter(([name, value]) => value !== undefined && name !== 'seed')
    .map(([name, value]) => (typeof value === 'object' ? `${name} ${JSON.stringify(value)}` : `${name} ${value}`))
    .join(', ')
}

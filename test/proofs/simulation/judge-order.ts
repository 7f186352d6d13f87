import type { HandlerRun, LifeFacts } from './facts.ts'
import type { History } from './history.ts'
import { type EventPlan, type HandlerPlan, handlersOf, nameOf } from './plan.ts'
import type { World } from './world.ts'

/** Tolerance at the end of the retention. */
const SLACK_MS = 60_000

/** Returns whether a handler has done its part for an event: it succeeded, or a newer event of the record had. */
export function isFinished(history: History, life: LifeFacts, event: EventPlan, handler: string): boolean {
  if (history.isCompleted(event, handler)) return true
  const plan = life.handlers.find((each) => nameOf(each) === handler)
  const isOrdered = plan === undefined || plan.isOrdered // a mark may be that of a handler of older code
  return isOrdered && history.events.some((other) => isNewer(other, event) && history.isCompleted(other, handler))
}

/**
 * Checks a run of a handler with an order at its start: no newer event of the record, which this handler had completed, may have been done
 * when the claim was asked for.
 */
export function judgeBegin(world: World, run: HandlerRun, plan: HandlerPlan): void {
  const { history, ledger, findings, now, isForgetful } = world
  const { event, handler, life, grant } = run
  if (!plan.isOrdered || grant === undefined || isForgetful) return
  for (const newer of history.events) {
    const done = isNewer(newer, event) ? ledger.completionOf(newer) : undefined
    if (done === undefined || done.at > grant.askedAt || now - done.at > world.plan.settings.retentionMs - SLACK_MS)
      continue
    if (world.plan.engine === 'memory' && done.life !== life) continue
    if (done.at < history.positionsDroppedAt) continue
    const hadHandler = handlersOf(done.life.handlers, newer.type).some(
      (each) => each.isOrdered && nameOf(each) === handler,
    )
    if (!hadHandler || !history.isCompleted(newer, handler)) continue
    findings.add(
      'outdated event handled',
      `${handler} in ${life.name} began event ${event.number}, though event ${newer.number} of its record is newer and was done`,
    )
  }
}

/** Checks a commit: none of a newer event of the record by the same handler may have come before. */
export function judgeCommit({ history, findings, plan, now }: World, { event, handler, life }: HandlerRun): void {
  const own = life.handlers.find((each) => nameOf(each) === handler)
  if (own?.isOrdered !== true || now > plan.settings.retentionMs - SLACK_MS) return
  for (const newer of history.events)
    if (isNewer(newer, event) && history.orderedRows.has(`${handler} of event ${newer.number}`))
      findings.add(
        'outdated event handled',
        `${handler} in ${life.name} committed event ${event.number} after event ${newer.number} of its record, which is newer`,
      )
}

/** Returns whether two events are of one record, and the first is strictly newer. The times are parsed independently of the library. */
function isNewer(one: EventPlan, other: EventPlan): boolean {
  const isOfOneRecord = one.account === other.account && one.record === other.record && modelOf(one) === modelOf(other)
  if (!isOfOneRecord || modelOf(one) === undefined) return false
  const [time, otherTime] = [minuteOf(one), minuteOf(other)]
  return time !== undefined && otherTime !== undefined && time > otherTime
}

function modelOf({ type }: EventPlan): string | undefined {
  return /^(contact|invoice)\./.exec(type)?.[1]
}

/** Every time that is drawn and can be read is one of the first minutes of 2025, in one of three zones. */
function minuteOf({ timestamp }: EventPlan): number | undefined {
  const [, minute] = /T(?:00|02|23):0(\d):00(?:\.000Z|\.000999-01:00|\+02:00)$/.exec(timestamp) ?? []
  return minute === undefined ? undefined : Number(minute)
}

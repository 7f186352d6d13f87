import { Causes } from './causes.ts'
import type { Cluster } from './cluster.ts'
import type { HandlerRun } from './facts.ts'
import { toName } from './judge-answer.ts'
import type { Sender } from './sender.ts'
import type { World } from './world.ts'

/** What clocks may differ by at the end of the retention. */
const SLACK_MS = 60_000

/** What it takes to give a claim back: a call that hears nothing, and another. */
const TO_GIVE_BACK_MS = 5_000

/** Judges what can only be judged when all is over. */
export function judgeEnd(world: World, cluster: Cluster, sender: Sender, isAtRest: boolean): void {
  const causes = new Causes(world.history, world.plan.settings)
  world.ledger.close()
  judgeRuns(world, causes)
  judgeRows(world)
  judgeLeases(world, causes)
  if (!isAtRest) return
  judgeDeliveries(world, cluster)
  judgeAborts(world)
  // Where no handler is ever called, no event may be acknowledged.
  const isAnyHandled = world.plan.settings.interceptor !== 'skips it'
  for (const { event, isAcknowledged, attempts } of sender.sent)
    if (!isAcknowledged && isAnyHandled)
      world.findings.add('never handled', `event ${event.number} was never acknowledged, in ${attempts} attempts`)
}

/** A handler that has succeeded runs again, or runs twice at a time, only for a reason. */
function judgeRuns(world: World, causes: Causes): void {
  for (const next of world.history.runs) {
    const { event, handler, grant, life } = next
    const what = `${handler} of event ${event.number}`
    if (grant === undefined) world.findings.add('overlapping', `${life.name} began ${what} without a claim`)
    for (const run of world.history.runsOf(event, handler).slice(0, next.number)) {
      if (endOf(run) > next.beganAt && causes.whyOverlapping(run, next) === undefined)
        world.findings.add(
          'overlapping',
          `${what} began in ${life.name} while its run ${run.number} was under way in ${run.life.name}`,
        )
      if (run.completedAt === undefined || run.completedAt > next.beganAt || isForgotten(world, run, next)) continue
      const isTold = grant?.marks.has(handler) === true
      if (isTold || grant === run.grant || causes.whyUnknown(run, next) === undefined)
        world.findings.add(
          'repeated',
          `${what} ran again in ${life.name}, though run ${run.number} in ${run.life.name} had succeeded${isTold ? ', and its claim said so' : ''}`,
        )
    }
  }
}

/** Whoever waits for his abort is told of it while his process lives. */
function judgeAborts({ history, findings }: World): void {
  for (const { handler, event, life, waitsForAbort } of history.runs)
    if (waitsForAbort && life.death === undefined)
      findings.add(
        'never aborted',
        `${handler} of event ${event.number} in ${life.name} waits for its abort to this day`,
      )
}

function endOf({ endedAt, life }: HandlerRun): number {
  return endedAt ?? life.death?.at ?? Number.POSITIVE_INFINITY
}

/** The store may forget what is done after the retention, or where it says that it had to; a memory store ends with its process. */
function isForgotten({ plan, isForgetful }: World, run: HandlerRun, next: HandlerRun): boolean {
  if (plan.engine === 'memory' && run.life !== next.life) return true
  const ageMs = next.beganAt - (run.completedAt ?? next.beganAt)
  return isForgetful || ageMs > plan.settings.retentionMs - SLACK_MS
}

function judgeRows({ history, findings, plan, now }: World): void {
  if (now > plan.settings.retentionMs - SLACK_MS) return // an event may have been forgotten, and handled anew
  const counts = new Map<string, number>()
  for (const row of history.rows) counts.set(row, (counts.get(row) ?? 0) + 1)
  for (const [row, count] of counts) if (count > 1) findings.add('effect not once', `${row} was written ${count} times`)
}

/** A process that is well never loses a claim that it needs, and never forgets one that it does not. */
function judgeLeases({ ledger, findings }: World, causes: Causes): void {
  for (const { grant, at } of ledger.lapses) {
    const { life, event, token, answeredAt, settledAt } = grant
    if (answeredAt === undefined || answeredAt + TO_GIVE_BACK_MS > at) continue // the process did not know of it in time
    if (settledAt !== undefined && settledAt < at) continue // a late renewal brought it back to life
    if (causes.whyLost(life, grant, grant.askedAt, at) === undefined)
      findings.add(
        'lease ran out',
        `the claim ${token} of ${life.name} for event ${event.number} ran out at ${Math.round(at)} ms`,
      )
  }
}

/** Whoever lives has answered everything, and has told its owner of every delivery once. */
function judgeDeliveries({ history, findings }: World, { lives }: Cluster): void {
  for (const delivery of history.deliveries)
    if (delivery.answer === undefined && delivery.life.death === undefined)
      findings.add('never answered', `${delivery.life.name} never answered ${toName(delivery)}`)
  for (const { name, isAlive, received, outcomesTold } of lives)
    if (isAlive && received !== outcomesTold)
      findings.add('not reported once', `${name} received ${received} deliveries and told of ${outcomesTold}`)
}

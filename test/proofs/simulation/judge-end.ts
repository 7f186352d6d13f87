import { Causes } from './causes.ts'
import type { Cluster } from './cluster.ts'
import type { Disturbance, Grant, HandlerRun } from './facts.ts'
import { judgeInbox } from './inbox/judge-inbox.ts'
import { toName } from './judge-answer.ts'
import type { Sender } from './sender.ts'
import type { World } from './world.ts'

/** Tolerance at the end of the retention. */
const SLACK_MS = 60_000

/** Time after which a call without an answer is given up. */
const CALL_LIMIT_MS = 3_000
/** Time to release a claim: one call that gets no answer, and one more. */
const TO_GIVE_BACK_MS = 5_000

/** Judges everything that can only be judged at the end of a run. */
export function judgeEnd(world: World, cluster: Cluster, sender: Sender, isAtRest: boolean): void {
  const causes = new Causes(world.history, world.plan.settings)
  world.ledger.close()
  judgeRuns(world, causes)
  judgeRows(world)
  judgeLeases(world, causes)
  if (world.inbox !== undefined) judgeInbox(world, world.inbox, cluster.lives, causes, isAtRest)
  if (!isAtRest) return
  judgeDeliveries(world, cluster)
  judgeAborts(world)
  // If no handler is ever called, no event may be acknowledged.
  const isAnyHandled = world.plan.settings.interceptor !== 'skips it' || world.inbox !== undefined
  for (const { event, isAcknowledged, attempts } of sender.sent)
    if (!isAcknowledged && isAnyHandled)
      world.findings.add('never handled', `event ${event.number} was never acknowledged, in ${attempts} attempts`)
}

/** Checks that no handler ran again after it had succeeded, and that no two runs overlapped, without a cause. */
function judgeRuns(world: World, causes: Causes): void {
  for (const next of world.history.runs) {
    const { event, handler, grant, life } = next
    const what = `${handler} of event ${event.number}`
    if (grant === undefined) world.findings.add('overlapping', `${life.name} began ${what} without a claim`)
    for (const run of world.history.runsOf(event, handler).slice(0, next.number)) {
      if (endOf(run) > next.beganAt) {
        world.visit('runs overlapped')
        if (causes.whyOverlapping(run, next) === undefined)
          world.findings.add(
            'overlapping',
            `${what} began in ${life.name} while its run ${run.number} was under way in ${run.life.name}`,
          )
      }
      if (run.completedAt === undefined || run.completedAt > next.beganAt || isForgotten(world, run, next)) continue
      world.visit('handler ran again')
      const isTold = grant?.marks.has(handler) === true
      if (isTold || grant === run.grant || causes.whyUnknown(run, next) === undefined)
        world.findings.add(
          'repeated',
          `${what} ran again in ${life.name}, though run ${run.number} in ${run.life.name} had succeeded${isTold ? ', and its claim said so' : ''}`,
        )
    }
  }
}

/** Returns whether the process had the time to release its claim. */
function couldGiveBack(
  { givesBackLostClaims, history }: World,
  { askedAt, grantedAt, answeredAt, isEcho, life }: Grant,
  at: number,
): boolean {
  if (isEcho) return false
  if (answeredAt !== undefined) return answeredAt + TO_GIVE_BACK_MS <= at
  if (!givesBackLostClaims) return false
  // Without an answer it releases claims that the engine processed while it still waited.
  const untilGivenBack = askedAt + CALL_LIMIT_MS + TO_GIVE_BACK_MS
  const endsAt = Math.min(at, life.death?.at ?? at)
  if (grantedAt > askedAt + CALL_LIMIT_MS || untilGivenBack > endsAt) return false
  // No close() of a receiver waits for the releases of its store, and a process that is cut off when it exits cannot.
  const isAtDeath = ({ process, from, to }: Disturbance) =>
    (process ?? life.process) === life.process && from < endsAt && to > endsAt - TO_GIVE_BACK_MS
  return life.death === undefined || endsAt < life.death.at || !history.disturbances.some(isAtDeath)
}

/** Checks that every handler that waits for its abort got it, if its process lives. */
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

/** Returns whether the store may have forgotten a run: after the retention, if it ran out of room, or if it ended with its process. */
function isForgotten({ plan, isForgetful }: World, run: HandlerRun, next: HandlerRun): boolean {
  if (plan.engine === 'memory' && run.life !== next.life) return true
  const ageMs = next.beganAt - (run.completedAt ?? next.beganAt)
  return isForgetful || ageMs > plan.settings.retentionMs - SLACK_MS
}

function judgeRows({ history, findings, plan, now }: World): void {
  if (now > plan.settings.retentionMs - SLACK_MS) return // an event may have been forgotten, and handled again
  const counts = new Map<string, number>()
  for (const row of history.rows) counts.set(row, (counts.get(row) ?? 0) + 1)
  for (const [row, count] of counts) if (count > 1) findings.add('effect not once', `${row} was written ${count} times`)
}

/** Checks that no healthy process lost a claim that it needed, or kept one that it did not. */
function judgeLeases(world: World, causes: Causes): void {
  const { ledger, findings } = world
  for (const { grant, at } of ledger.lapses) {
    const { life, event, token, settledAt } = grant
    if (!couldGiveBack(world, grant, at)) continue
    if (settledAt !== undefined && settledAt < at) continue // a late renewal brought it back to life
    if (causes.whyLost(life, grant, grant.askedAt, at) === undefined)
      findings.add(
        'lease ran out',
        `the claim ${token} of ${life.name} for event ${event.number} ran out at ${Math.round(at)} ms`,
      )
  }
}

/** Checks that every living process has answered every delivery, and has reported each once. */
function judgeDeliveries({ history, findings }: World, { lives }: Cluster): void {
  for (const delivery of history.deliveries)
    if (delivery.answer === undefined && delivery.life.death === undefined)
      findings.add('never answered', `${delivery.life.name} never answered ${toName(delivery)}`)
  for (const { name, isAlive, received, outcomesTold } of lives)
    if (isAlive && received !== outcomesTold)
      findings.add('not reported once', `${name} received ${received} deliveries and told of ${outcomesTold}`)
}

import type { Outcome, WorkedOnce } from 'postern'
import type { Causes } from '../causes.ts'
import type { Life } from '../life.ts'
import type { EventPlan } from '../plan.ts'
import type { World } from '../world.ts'
import type { InboxHouse } from './inbox-house.ts'
import { LONGEST_ALONE_MS, type Taking } from './inbox-ledger.ts'

/** A run that outlasts the closing of a worker has 5 s to end after its abort, and 3 s to be settled, if the closing has as long before. */
const ABORT_MS = 8_000

/** The time in which it gives back what still runs then. */
const GIVE_BACK_MS = 1_000

/** Returns how long a worker that is closed waits after its abort, at most. */
export function afterAbortMs(timeoutMs: number): number {
  return Math.min(Math.max(timeoutMs, 1_000), ABORT_MS) + GIVE_BACK_MS
}

/** The longest time for which an interceptor keeps a handler waiting that was begun. */
const INTERCEPTED_MS = 5

/** The time in which a call of the inbox is answered or given up, and made again. */
const ANSWER_MS = 5_000

/** The number of events of one account that may go before one of another, for each accepting process, and in addition. */
const TURNS = 2
const MORE_TURNS = 12

/** Checks that an event is in the inbox when it is acknowledged. */
export function judgeAccepted(
  { findings }: World,
  { ledger }: InboxHouse,
  life: Life,
  event: EventPlan,
  { outcome }: Outcome,
): void {
  if (outcome !== 'accepted')
    findings.add('acknowledged early', `${life.name} answered 200 "${outcome}" to event ${event.number}`)
  if (ledger.stateOf(event) === undefined)
    findings.add('acknowledged early', `${life.name} accepted event ${event.number}, which is not in the inbox`)
  ledger.accepted.add(event)
}

/** The result of a `close()`, and the time it took. */
export interface Closed {
  readonly timeoutMs: number
  readonly tookMs: number
  readonly unfinished: number
}

/** Checks that a closed worker has ended and released its items, unless it could not reach the engine, or did not wait for hung handlers. */
export function judgeClosedWorker(
  world: World,
  { ledger }: InboxHouse,
  life: Life,
  { timeoutMs, tookMs, unfinished }: Closed,
): void {
  const { findings, history, now } = world
  if (history.isDisturbed(life.process, now - tookMs, now)) return
  if (unfinished > 0 && timeoutMs >= ABORT_MS)
    findings.add('kept by a closed worker', `${life.name} is closed with ${unfinished} unfinished`)
  // What an earlier worker of the process left running is not this one's.
  const isOwn = ({ closingAt = now }: Taking) => closingAt >= now - tookMs
  for (const taking of ledger.heldBy(life))
    if (isOwn(taking) && !isLeftBehind(world, taking))
      findings.add('kept by a closed worker', `${life.name} is closed and holds event ${taking.event.number}`)
}

/** Checks the limits of a call of `workOnce`, which waits for a second after its abort, and until the engine has answered. */
export function judgeWorkedOnce(
  { findings, history, now }: World,
  life: Life,
  {
    done,
    forMs,
    max,
    tookMs,
  }: { readonly done: WorkedOnce; readonly forMs: number; readonly max: number | undefined; readonly tookMs: number },
): void {
  if (done.handled + done.failed > (max ?? Number.POSITIVE_INFINITY))
    findings.add('worked too long', `${life.name} ran ${done.handled + done.failed} events of at most ${max}`)
  if (life.isClosing) return // `close` has a time of its own
  if (tookMs > forMs + afterAbortMs(0) + ANSWER_MS && !history.isDisturbed(life.process, now - tookMs, now))
    findings.add('worked too long', `${life.name} worked once for ${tookMs} ms instead of ${forMs}`)
}

/** Judges the state of the inbox at the end of a run. */
export function judgeInbox(
  world: World,
  { ledger, plan }: InboxHouse,
  lives: readonly Life[],
  causes: Causes,
  isAtRest: boolean,
): void {
  const { findings, history } = world
  for (const taking of ledger.takings) judgeLapse(world, taking, causes)
  if (plan.work.concurrency > 1) for (const taking of ledger.takings) judgeSolitude(world, taking)
  for (const run of history.runs) {
    const taking = ledger.takings.findLast(
      ({ event, life, at }) => event === run.event && life === run.life && at <= run.beganAt,
    )
    const isAborted = (at: number) => taking !== undefined && at > taking.at && at < run.beganAt - INTERCEPTED_MS
    if (run.life.workAborts.some(isAborted))
      findings.add(
        'kept by a closed worker',
        `${run.life.name} began ${run.handler} for event ${run.event.number} after its abort`,
      )
    if (taking?.item.marks.includes(run.handler) === true)
      findings.add(
        'repeated',
        `${run.handler} ran in ${run.life.name} though the item of event ${run.event.number} had its mark`,
      )
  }
  for (const { name, isAlive, deadLetters, deadLettersTold } of lives)
    if (isAlive && deadLetters !== deadLettersTold)
      findings.add('not reported once', `${name} made ${deadLetters} dead letters and told of ${deadLettersTold}`)
  judgeTurns(world, ledger.takings, plan.roles.length)
  if (!isAtRest) return
  for (const event of world.plan.events) {
    const state = ledger.stateOf(event)
    if (state === 'waiting' || state === 'running')
      findings.add('stuck', `event ${event.number} is ${state} in the inbox to this day`)
  }
}

/** Checks that no healthy worker lost an item that it held. */
function judgeLapse(world: World, taking: Taking, causes: Causes): void {
  const { event, life, worker, at, endsAt, lapsedAt, answeredAt } = taking
  if (lapsedAt === undefined || answeredAt === undefined) return
  if (isLeftBehind(world, taking)) return
  if (causes.whyLost(life, undefined, at, endsAt) === undefined)
    world.findings.add('lease ran out', `${worker} lost event ${event.number}, which it had from ${at} to ${endsAt} ms`)
}

/** Checks that others could join a suspect after ten seconds. */
function judgeSolitude({ findings, history, now }: World, taking: Taking): void {
  const { event, life, worker, isSuspect, answeredAt, joinedAt, settledAt, lapsedAt, closingAt } = taking
  if (!isSuspect || answeredAt === undefined) return
  const until = Math.min(
    ...[joinedAt, settledAt, lapsedAt, closingAt, life.death?.at, now].filter((at) => at !== undefined),
  )
  if (until - answeredAt > LONGEST_ALONE_MS + ANSWER_MS && !history.isDisturbed(life.process, answeredAt, until))
    findings.add('held up', `${worker} ran event ${event.number} alone for ${until - answeredAt} ms`)
}

/** Returns whether a worker was closed that could not reach the engine: its aborted items are released once, or their leases end. */
function isLeftBehind({ history }: World, { life, at, endsAt }: Taking): boolean {
  const isCutOff = (abortAt: number) => history.isDisturbed(life.process, abortAt, abortAt + ABORT_MS)
  return life.workAborts.some((abortAt) => abortAt >= at && abortAt <= endsAt && isCutOff(abortAt))
}

/** Checks that the backlog of one account does not delay another one. */
function judgeTurns({ findings }: World, takings: readonly Taking[], processes: number): void {
  for (const taking of takings) {
    if (taking.isSuspect) continue
    const { event, readySince, at } = taking
    const before = takings.filter((each) => each.at > readySince && each.at < at && !each.isSuspect)
    const count = (account: string) => before.filter((each) => each.event.account === account).length
    const own = count(event.account)
    for (const account of new Set(before.map((each) => each.event.account)))
      if (account !== event.account && count(account) > TURNS * processes * (own + 1) + MORE_TURNS)
        findings.add(
          'starved',
          `event ${event.number} of ${event.account} waited for ${count(account)} of ${account}, and ${own} of its own`,
        )
  }
}

import { sleep } from '../host/clock.ts'
import type { TakenItem } from '../inbox/inbox.ts'
import { PosternError } from '../protocol/errors.ts'
import { type Outcome, toFailed, toOutcome } from '../protocol/outcome.ts'
import { isThenable } from '../protocol/promises.ts'
import { quote } from '../protocol/show.ts'
import type { Claim } from '../store/store.ts'
import { Attempt, type AttemptResult } from './attempt.ts'
import { checkEvent } from './check-event.ts'
import { Lease } from './lease.ts'
import { Order } from './order.ts'
import type { Run } from './run.ts'
import type { Shared } from './shared.ts'
import { callStore, STORE_LIMIT_MS, StoreFailure } from './store-call.ts'

/** The time after which a claim that another process holds is asked for again, in milliseconds. */
const BUSY_POLL_MS = 1_000

/**
 * Stops 7 to 10 of a delivery, once for all duplicates of an event: claim, schema, handlers, settling. If store, schema and handlers
 * make nobody wait, a success sets `run.outcome` before this returns: hence the guard at each `await`. Never rejects.
 */
export async function runEvent(shared: Shared, run: Run): Promise<Outcome> {
  let attempt: Attempt | undefined
  let claim: Claim | StoreFailure
  try {
    if (run.route.isOrdered) run.order = Order.of(shared.settings.name, run.route, run.event)
    for (;;) {
      const { claimBy } = run
      const asked = askStore(shared, run) // 7
      claim = isThenable(asked) ? await asked : asked
      // The first delivery had no time left, and one that joined it meanwhile has.
      if (claim.state === 'failed' && run.claimBy > claimBy && shared.settings.clock.monotonic() > claimBy - 1) continue
      if (claim.state !== 'busy') break
      if (run.first.item !== undefined) return run.end(toOutcome('busy', run)) // its worker has others to run meanwhile
      run.phase = 'busy'
      await sleep(shared.settings.clock, Math.min(BUSY_POLL_MS, run.timeLeft))
      if (shared.isClosing) return run.end(toOutcome('closing', run))
      if (run.timeLeft === 0) return run.end(toOutcome('busy', run))
    }
    if (claim.state === 'failed') return run.end(toUnclaimed(run, claim))
    if (claim.state === 'done') return run.end(toOutcome('duplicate', run))

    run.phase = 'working'
    run.lease = new Lease(shared, run.key, claim.token, run.askedAt)
    attempt = new Attempt(shared, run, run.lease, withKept(claim.marks, run.first.item))
    let verdict = run.refusal && toRefused(run.refusal, attempt)
    if (verdict === undefined) {
      const checking = checkEvent(run) // 8
      verdict = attempt.takeChecked(isThenable(checking) ? await attempt.waitFor(checking) : checking)
    }
    if (verdict === undefined) {
      const running = attempt.beginHandlers() // 9
      if (isThenable(running)) await running
      verdict = attempt.judge()
    }
    attempt.end()

    run.phase = 'settling'
    run.verdict = verdict.outcome
    run.marks = verdict.marks
    const settling = settleClaim(shared, run, run.lease, verdict) // 10
    return run.end(isThenable(settling) ? await settling : settling)
  } catch (cause) {
    if (attempt !== undefined) {
      run.marks = attempt.marks
      run.goesOn = run.lease?.release(attempt.marks)
    }
    return run.end(toUnexpected(shared, run, cause))
  } finally {
    attempt?.end()
    run.lease?.stop()
  }
}

/** Asks for the claim. One that comes after its time is given back, or it would block its event until it ends. */
function askStore(shared: Shared, run: Run): Claim | StoreFailure | Promise<Claim | StoreFailure> {
  const { store, leaseMs, clock } = shared.settings
  const askedAt = clock.monotonic()
  // A claim that comes later than half its lease is of no use: its handlers would begin on borrowed time.
  const limitMs = Math.min(STORE_LIMIT_MS, leaseMs / 2, Math.max(run.claimBy - askedAt, 0))
  run.askedAt = askedAt
  const giveBack = (answer: unknown) => {
    const late = toClaim(answer)
    if (late.state === 'claimed') void new Lease(shared, run.key, late.token, askedAt).release(late.marks)
  }
  const claiming = callStore(shared, limitMs, () => store.claim(run.key, leaseMs), toClaim, giveBack)
  return run.order === undefined ? claiming : askPositions(shared, run.order, limitMs, claiming, giveBack)
}

/** Asks what is newer than the event, beside the claim, which is of no use without the answer and is given back then. */
function askPositions(
  shared: Shared,
  order: Order,
  limitMs: number,
  claiming: Claim | StoreFailure | Promise<Claim | StoreFailure>,
  giveBack: (claim: unknown) => void,
): Claim | StoreFailure | Promise<Claim | StoreFailure> {
  const asking = callStore(shared, limitMs, () => shared.settings.store.positions?.(order.keys), order.toPositions)
  const take = (claim: Claim | StoreFailure, latest: readonly (number | undefined)[] | StoreFailure) => {
    if (!(latest instanceof StoreFailure)) {
      order.latest = latest
      return claim
    }
    giveBack(claim)
    return new StoreFailure(latest.cause, 'positions')
  }
  const takeLater = async () => {
    const claim = await claiming
    return claim.state === 'claimed' ? take(claim, await asking) : claim
  }
  if (isThenable(claiming) || isThenable(asking)) return takeLater()
  return claiming.state === 'claimed' ? take(claiming, asking) : claiming
}

function toClaim(answer: unknown): Claim | StoreFailure {
  const { state, token, marks } = Object(answer) as Partial<Record<'state' | 'token' | 'marks', unknown>> // each is checked here
  const isClaimed = state === 'claimed' && typeof token === 'string' && Array.isArray(marks)
  if (isClaimed || state === 'done' || state === 'busy') return answer as Claim // by what was checked
  return new StoreFailure(new TypeError('it returned something that is not a claim'))
}

/** A delivery that waited for another process is answered `busy` at its deadline, also while the store is being asked once more. */
function toUnclaimed(run: Run, failure: StoreFailure): Outcome {
  return run.phase === 'busy' && run.timeLeft === 0 ? toOutcome('busy', run) : run.failClaim(failure)
}

/** No handler is to run: the event is given back, with the marks that it has. */
function toRefused(outcome: Outcome, { marks }: Attempt): AttemptResult {
  return { outcome, settleBy: 'release', marks }
}

/** A dead letter that is replayed after the store has forgotten its marks has kept them itself. */
function withKept(marks: readonly string[], item: TakenItem | undefined): readonly string[] {
  return item === undefined || item.marks.length === 0 ? marks : [...new Set([...marks, ...item.marks])]
}

function settleClaim(
  shared: Shared,
  run: Run,
  lease: Lease,
  { outcome, settleBy, marks }: AttemptResult,
): Outcome | Promise<Outcome> {
  if (settleBy === 'release') return settleRelease(run, lease, outcome, marks)
  if (settleBy === 'abandon') run.goesOn = lease.abandon(marks)
  if (settleBy !== 'complete') return outcome
  const isDone = lease.complete()
  return isDone === true ? outcome : settleCompletion(shared, run, lease, isDone, { outcome, marks })
}

async function settleRelease(run: Run, lease: Lease, outcome: Outcome, marks: readonly string[]): Promise<Outcome> {
  run.goesOn = (await lease.release(marks))?.goesOn
  return outcome
}

/** The store's answer is to come, or was not what is wanted. */
async function settleCompletion(
  shared: Shared,
  run: Run,
  lease: Lease,
  answer: boolean | StoreFailure | Promise<boolean | StoreFailure>,
  { outcome: handled, marks }: Pick<AttemptResult, 'outcome' | 'marks'>,
): Promise<Outcome> {
  lease.keep(() => marks, ignore)
  let isDone = await answer
  if (isDone instanceof StoreFailure) {
    // The answer is 200, since the work is done; until the store agrees this process remembers.
    shared.reporter.error(isDone.toError('complete', 'the handlers succeeded, so it is retried for 60 s'))
    run.phase = 'storing'
    run.handOverAll()
    run.answerAll(handled)
    isDone = await lease.keepCompleting()
  }
  if (isDone === true) return handled
  if (isDone instanceof StoreFailure) {
    const consequence = 'that was the last try, and a later duplicate of the event may run again'
    shared.reporter.error(isDone.toError('complete', consequence))
    return handled
  }
  const message = `Another process had taken over ${quote(run.type)} when its handlers ended here.`
  const error = run.toError('lease_lost', message, run.handlerNames)
  shared.reporter.error(error)
  return toFailed(503, 'lease_lost', error, run)
}

function toUnexpected(shared: Shared, run: Run, cause: unknown): Outcome {
  const error = new PosternError('unexpected', `Postern itself failed while it handled ${quote(run.type)}.`, { cause })
  shared.reporter.error(error)
  return toFailed(500, 'unexpected', error, run)
}

const ignore = () => {}

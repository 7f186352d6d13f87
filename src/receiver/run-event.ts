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

type Claimed = Extract<Claim, { readonly state: 'claimed' }>

/** Interval of claims for an event that another process holds, in milliseconds. */
const BUSY_POLL_MS = 1_000

/**
 * Stops 7 to 10, once for all duplicates of an event: claim, schema, handlers, settling. If store, schema and handlers are synchronous,
 * `run.outcome` is set before this returns: hence the condition at each `await`. Never rejects.
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
      // A delivery that joined meanwhile has more time than the first one.
      if (claim.state === 'failed' && run.claimBy > claimBy && shared.settings.clock.monotonic() > claimBy - 1) continue
      if (claim.state !== 'busy') break
      if (run.first.item !== undefined) return run.end(toOutcome('busy', run)) // the worker runs other items meanwhile
      run.phase = 'busy'
      await sleep(shared.settings.clock, Math.min(BUSY_POLL_MS, run.timeLeft))
      if (shared.isClosing) return run.end(toOutcome('closing', run))
      if (run.timeLeft === 0) return run.end(toOutcome('busy', run))
    }
    if (claim.state === 'failed') return run.end(toUnclaimed(run, claim))
    if (claim.state === 'done') return run.end(toOutcome('duplicate', run))

    run.phase = 'working'
    run.lease = new Lease(shared, run.key, claim.token, run.askedAt, run.order)
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

/** Claims the event. A claim that comes too late is released, since it would block the event until it expires. */
function askStore(shared: Shared, run: Run): Claim | StoreFailure | Promise<Claim | StoreFailure> {
  const { store, leaseMs, clock } = shared.settings
  const askedAt = clock.monotonic()
  // After half of the lease a claim is useless: it could expire before its first renewal.
  const limitMs = Math.min(STORE_LIMIT_MS, leaseMs / 2, Math.max(run.claimBy - askedAt, 0))
  run.askedAt = askedAt
  const giveBack = (answer: unknown) => {
    const late = toClaim(answer)
    if (late.state === 'claimed') void new Lease(shared, run.key, late.token, askedAt).release(late.marks)
  }
  const { key, order } = run
  const claim = () => (order === undefined ? store.claim(key, leaseMs) : store.claim(key, leaseMs, order.keys))
  return callStore(shared, limitMs, claim, (answer) => toClaim(answer, order), giveBack)
}

/** @param order takes the positions of the claim; left out for a claim that is not used */
function toClaim(answer: unknown, order?: Order): Claim | StoreFailure {
  const { state, token, marks, positions } = Object(answer) as { readonly [key in keyof Claimed]: unknown } // each is checked here
  const isClaimed = state === 'claimed' && typeof token === 'string' && Array.isArray(marks)
  const isWhole = isClaimed && (order === undefined || order.take(positions))
  if (isWhole || state === 'done' || state === 'busy') return answer as Claim // by what was checked
  return new StoreFailure(new TypeError('it returned something that is not a claim'))
}

/** Answers `busy` if a delivery that waited for another process reached its deadline during its last claim. */
function toUnclaimed(run: Run, failure: StoreFailure): Outcome {
  return run.phase === 'busy' && run.timeLeft === 0 ? toOutcome('busy', run) : run.failClaim(failure)
}

/** Releases an event without running handlers, with the marks that it has. */
function toRefused(outcome: Outcome, { marks }: Attempt): AttemptResult {
  return { outcome, settleBy: 'release', marks }
}

/** Adds the marks that a dead letter carries: it may be replayed after the store has dropped them. */
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
  const isDone = lease.complete(marks)
  return isDone === true ? outcome : settleCompletion(shared, run, lease, isDone, { outcome, marks })
}

async function settleRelease(run: Run, lease: Lease, outcome: Outcome, marks: readonly string[]): Promise<Outcome> {
  run.goesOn = (await lease.release(marks))?.goesOn
  return outcome
}

/** Continues if `complete` is asynchronous or did not return true. */
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
    // The work is done, so the answer is 200; until the store confirms, this process answers duplicates.
    shared.reporter.error(isDone.toError('complete', 'the handlers succeeded, so it is retried for 60 s'))
    run.phase = 'storing'
    run.answerAll(handled)
    isDone = await lease.keepCompleting(marks)
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

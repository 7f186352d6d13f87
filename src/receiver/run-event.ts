import { sleep } from '../host/clock.ts'
import type { TakenItem } from '../inbox/inbox.ts'
import { hasRecord, type ParsedEvent } from '../protocol/envelope.ts'
import { PosternError } from '../protocol/errors.ts'
import { type Outcome, Rejection, toFailed, toOutcome, toRejected } from '../protocol/outcome.ts'
import { isThenable } from '../protocol/promises.ts'
import { STORE_LIMIT_MS } from '../protocol/schedule.ts'
import { type CheckedData, checkData } from '../protocol/schema.ts'
import { quote } from '../protocol/show.ts'
import type { Claim } from '../store/store.ts'
import { Attempt } from './attempt.ts'
import { callStore, Lease, MOST_NAMES, StoreFailure } from './lease.ts'
import { warnOfNeighbour } from './neighbours.ts'
import { Order } from './order.ts'
import type { AttemptResult, Run, RunResult } from './run.ts'
import type { Shared } from './shared.ts'
import type { Waiters } from './waiters.ts'

/** Names that a line shows. */
const MOST_SHOWN = 3

type Claimed = Extract<Claim, { readonly state: 'claimed' }>

const NO_RECORD: CheckedData = { issues: [{ path: 'data.record', message: 'Expected an object with a string "_id".' }] }
const NOT_AS_ASKED = 'The record, or data, does not match the schema.'
/** Interval of claims for an event that another process holds, in milliseconds. */
const BUSY_POLL_MS = 1_000

/**
 * Stops 7 to 10, once for all duplicates of an event: claim, schema, handlers, settling. If store, schema and handlers are synchronous, the
 * run has ended before this returns: hence the condition at each `await`. Never rejects.
 *
 * @param refusal outcome if no handler may run, unless the event is done, busy or cannot be claimed
 */
export async function runEvent(shared: Shared, waiters: Waiters, refusal?: Outcome): Promise<RunResult> {
  const { run } = waiters
  const { item } = run.first
  const endUnclaimed = (outcome: Outcome) => run.end({ outcome, marks: item?.marks ?? [] })
  let lease: Lease | undefined
  let attempt: Attempt | undefined
  try {
    const order = run.route.isOrdered ? Order.of(shared.settings.name, run.route, run.event) : undefined
    let asked: Asked
    let claim: Claim | StoreFailure
    for (;;) {
      asked = askStore(shared, run, waiters.claimBy, order) // 7
      claim = isThenable(asked.answer) ? await asked.answer : asked.answer
      const isOutOfTime = claim.state === 'failed' && shared.settings.clock.monotonic() > asked.claimBy - 1 // timers may fire early
      if (isOutOfTime && waiters.claimBy > asked.claimBy) continue // a delivery that joined meanwhile has more time
      if (claim.state !== 'busy') break
      if (item !== undefined) return endUnclaimed(toOutcome('busy', run)) // the worker runs other items meanwhile
      run.moveTo({ at: 'busy' })
      await sleep(shared.settings.clock, Math.min(BUSY_POLL_MS, waiters.timeLeft))
      if (shared.isClosing) return endUnclaimed(toOutcome('closing', run))
      if (waiters.timeLeft === 0) return endUnclaimed(toOutcome('busy', run))
    }
    if (claim.state === 'failed') return endUnclaimed(waiters.failClaim(claim))
    if (claim.state === 'done') {
      if (Array.isArray(claim.by)) reportDoneElsewhere(shared, run, claim.by)
      return endUnclaimed(toOutcome('duplicate', run))
    }

    reportOtherHandlers(shared, run, claim.marks)
    lease = new Lease(shared, run.key, claim.token, asked.at, order)
    run.moveTo({ at: 'working', lease })
    attempt = new Attempt(shared, run, lease, order, withKept(claim.marks, item))
    let verdict = refusal && attempt.toResult(refusal, 'release')
    if (verdict === undefined) {
      const checking = checkEvent(run) // 8
      const checked = isThenable(checking) ? await attempt.waitFor(checking) : checking
      verdict = takeChecked(shared, run, attempt, checked)
    }
    if (verdict === undefined) {
      const running = attempt.beginHandlers() // 9
      if (isThenable(running)) await running
      verdict = attempt.judge()
    }
    attempt.end()

    run.moveTo({ at: 'storing', lease, verdict: verdict.outcome, isAnswered: false })
    const settling = settleClaim(shared, waiters, lease, verdict) // 10
    return run.end(isThenable(settling) ? await settling : settling)
  } catch (cause) {
    const outcome = toUnexpected(shared, run, cause)
    if (lease === undefined || attempt === undefined) return endUnclaimed(outcome)
    return run.end(await settleRelease(shared, run, lease, { outcome, marks: attempt.marks }))
  } finally {
    attempt?.end()
    lease?.stop()
  }
}

/** A call of `claim`. Times are on the monotonic clock. */
interface Asked {
  readonly at: number
  readonly claimBy: number
  readonly answer: Claim | StoreFailure | Promise<Claim | StoreFailure>
}

/** Claims the event. A claim that comes too late is released, since it would block the event until it expires. */
function askStore(shared: Shared, { key }: Run, claimBy: number, order: Order | undefined): Asked {
  const { store, leaseMs, clock } = shared.settings
  const at = clock.monotonic()
  // A claim that takes longer than half of the lease could expire before its first renewal.
  const limitMs = Math.min(STORE_LIMIT_MS, leaseMs / 2, Math.max(claimBy - at, 0))
  const giveBack = (answer: unknown) => {
    const late = checkClaim(answer)
    if (late.state === 'claimed') void new Lease(shared, key, late.token, at).release(late.marks)
  }
  const claim = () => (order === undefined ? store.claim(key, leaseMs) : store.claim(key, leaseMs, order.keys))
  return { at, claimBy, answer: callStore(shared, limitMs, claim, (answer) => checkClaim(answer, order), giveBack) }
}

/** @param order gets the positions of the claim; left out for a claim that is not used */
function checkClaim(answer: unknown, order?: Order): Claim | StoreFailure {
  const { state, token, marks, positions } = Object(answer) as { readonly [key in keyof Claimed]: unknown } // each is checked here
  const isClaimed = state === 'claimed' && typeof token === 'string' && Array.isArray(marks)
  const isWhole = isClaimed && (order === undefined || order.take(positions))
  if (isWhole || state === 'done' || state === 'busy') return answer as Claim // by what was checked
  return new StoreFailure(new TypeError('it returned something that is not a claim'))
}

/** Adds the marks that a dead letter carries: it may be replayed after the store has dropped them. */
function withKept(marks: readonly string[], item: TakenItem | undefined): readonly string[] {
  return item === undefined || item.marks.length === 0 ? marks : [...new Set([...marks, ...item.marks])]
}

/** Validates an event against its schema, if it has one. */
function checkEvent({ route, event }: Run): CheckedData | Promise<CheckedData> | undefined {
  const { model, schema } = route
  if (model !== undefined && !hasRecord(event.data)) return NO_RECORD
  return schema && checkData(schema, model === undefined ? event.data : event.data.record)
}

/**
 * Replaces the data by the output of the schema. Returns a result if no handler may begin.
 *
 * @param checked undefined if there is no schema, or the wait for it was given up
 */
function takeChecked(
  shared: Shared,
  run: Run,
  attempt: Attempt,
  checked: CheckedData | undefined,
): AttemptResult | undefined {
  const { event, route } = run
  if (checked !== undefined) {
    if ('thrown' in checked) {
      const message = `The schema for ${quote(run.type)} gave neither an output nor issues.`
      const error = new PosternError('schema_failed', message, { cause: checked.thrown })
      shared.reporter.error(error, run.first)
      return failSchema(run, attempt, error)
    }
    if ('issues' in checked)
      return attempt.toResult(toRejected(new Rejection('invalid_record', NOT_AS_ASKED, checked.issues), run), 'release')
    if (route.model !== undefined) event.data = { ...event.data, record: checked.value }
    else event.data = checked.value as ParsedEvent['data'] // handlers know the type of the schema's output
  }
  const { abortReason } = attempt
  if (abortReason?.code === 'lease_lost')
    return attempt.toResult(toFailed(503, 'lease_lost', abortReason, run), 'nothing')
  if (abortReason !== undefined) return failSchema(run, attempt, abortReason)
  const isStopping = shared.isClosing || run.first.item?.signal.aborted
  return isStopping ? attempt.toResult(toOutcome('closing', run), 'release') : undefined
}

function failSchema(run: Run, attempt: Attempt, error: PosternError): AttemptResult {
  return attempt.toResult(toFailed(500, 'schema_failed', error, run), 'release')
}

function settleClaim(
  shared: Shared,
  waiters: Waiters,
  lease: Lease,
  verdict: AttemptResult,
): RunResult | Promise<RunResult> {
  const { settleBy, marks } = verdict
  if (settleBy === 'release') return settleRelease(shared, waiters.run, lease, verdict)
  if (settleBy === 'abandon') return { ...verdict, goesOn: lease.abandon(marks) }
  if (settleBy === 'nothing') return verdict
  const answer = lease.complete(marks)
  return answer === true ? verdict : settleCompletion(shared, waiters, lease, answer, verdict)
}

async function settleRelease(
  shared: Shared,
  run: Run,
  lease: Lease,
  { outcome, marks }: RunResult,
): Promise<RunResult> {
  const { isHeld, goesOn } = await lease.release(marks)
  if (!isHeld) reportLost(shared, run)
  return { outcome, marks, goesOn }
}

/** Continues if `complete` is asynchronous or did not return true. */
async function settleCompletion(
  shared: Shared,
  waiters: Waiters,
  lease: Lease,
  first: boolean | StoreFailure | Promise<boolean | StoreFailure>,
  verdict: AttemptResult,
): Promise<RunResult> {
  const { outcome, marks } = verdict
  const { run } = waiters
  lease.startRenewing(() => marks, ignore)
  let answer = await first
  if (answer instanceof StoreFailure) {
    // The work is done, so the answer is 200; until the store confirms, this process answers duplicates.
    shared.reporter.error(answer.toError('complete', 'the handlers succeeded, so it is retried for 60 s'))
    run.moveTo({ at: 'storing', lease, verdict: outcome, isAnswered: true })
    waiters.answerAll(outcome)
    answer = await lease.keepCompleting(marks)
  }
  if (answer === true) return verdict
  if (answer instanceof StoreFailure) {
    const consequence = 'that was the last try, and a later duplicate of the event may run again'
    shared.reporter.error(answer.toError('complete', consequence))
    return verdict
  }
  return { outcome: toFailed(503, 'lease_lost', reportLost(shared, run), run), marks }
}

function reportLost(shared: Shared, run: Run): PosternError {
  const message = `Another process had taken over ${quote(run.type)} when its handlers ended here.`
  const error = run.toError('lease_lost', message, run.handlerNames)
  shared.reporter.error(error, run.first)
  return error
}

function toUnexpected(shared: Shared, run: Run, cause: unknown): Outcome {
  const error = new PosternError('unexpected', `Postern itself failed while it handled ${quote(run.type)}.`, { cause })
  shared.reporter.error(error, run.first)
  return toFailed(500, 'unexpected', error, run)
}

/**
 * Reports once if another service seems to use the store under the same name: each would lose the events that the other handles first.
 *
 * @param finished names of handlers that finished in earlier runs
 */
function reportOtherHandlers(
  { reporter, settings, told }: Shared,
  { type, handlerNames }: Run,
  finished: readonly string[],
): void {
  if (told.sharing || finished.length === 0 || handlerNames.length === 0) return
  const mayBeCut = finished.length >= MOST_NAMES
  if (mayBeCut || finished.some((name) => handlerNames.includes(name))) return
  told.sharing = true
  const names = finished.slice(0, MOST_SHOWN).map(quote).join(', ')
  const message = `${quote(type)} was handled before under the receiver name "${settings.name}" by ${names}, which this receiver does not have. If another service uses this store, each loses events to the other: give each its own name, createReceiver({ name: '…' }). If you renamed or removed handlers, nothing is wrong. This is reported once.`
  reporter.error(new PosternError('store_shared', message))
}

/** Reports what `complete` was given for an event that is done. Nothing distinguishes two services with equal handlers but their names. */
function reportDoneElsewhere(shared: Shared, event: Run, by: readonly string[]): void {
  const { reporter, settings, told } = shared
  const [process, ...finished] = by
  if (process === undefined || process === told.self) return
  reportOtherHandlers(shared, event, finished)
  if (told.sharing || settings.isNamed) return
  told.sharing = true
  if (warnOfNeighbour(shared, process, event.type)) return
  const message = `Another process handled ${quote(event.type)} before, so this one did not. That is right if both run the same service. If another service uses this store, each loses events to the other: give each its own name, createReceiver({ name: '…' }). The name "default", given explicitly, ends this line and keeps what the store knows.`
  // Every restart of a service that runs alone looks the same.
  reporter.logger.info({ code: 'store_shared' }, message)
}

const ignore = () => {}

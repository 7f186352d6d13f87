import { SERVICE_DEADLINE_MS } from '../../src/protocol/schedule.ts'
import { showTarget } from '../wire/target.ts'
import type { Answer, TestDelivery, TestEvent, Verdict } from './case.ts'
import { holdBack } from './cases/send-at-once.ts'
import type { Refusals } from './refusals.ts'
import type { CheckResult, Diagnosis, LossCode } from './report.ts'
import type { RunScene } from './scene.ts'
import { describe, findPutOff, isPutOff, isRefusal, isSuccess, readRetryAfterMs } from './verdict.ts'
import { readAll, readSettled } from './work.ts'

export interface Judged extends Verdict, Pick<CheckResult, 'id' | 'group'> {}

/** Reason why a plain delivery is not accepted, or no longer is. */
export interface Finding {
  readonly code: Diagnosis['code']
  readonly text: string
  /** True if there is no receiver whose other answers could be judged. */
  readonly isAbsent: boolean
  /** Signature checks that fail because of the same mistake. */
  readonly also: readonly string[]
}

/** Finds out why a receiver that accepted a plain delivery did not accept or answer later ones, or did not do their work. */
export async function findLate(scene: RunScene, checks: readonly Judged[]): Promise<Finding | undefined> {
  if (scene.isGone()) return findEnd(scene.target, checks)
  // A receiver that answers again at the end has not been judged by the checks that were left out.
  if (scene.isSilent() || checks.some(({ cause }) => cause === 'hangs')) return findSilence(checks)
  const limit = scene.putOffBy.size > 0 ? findLimit(checks, scene.putOffBy.has(429)) : undefined
  const { refusals } = scene
  if (limit !== undefined) return (await findStuck(scene, limit, checks)) ?? limit
  if (refusals.areForGood) return findShut(refusals, checks)
  // Requests that share something may be refused as well.
  return (await findLoss(scene, checks)) ?? findShut(refusals, checks)
}

const showSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

const isSilence = ({ failureKind }: Answer) => failureKind === 'timeout'
const isEnd = ({ isUnreachable }: Answer) => isUnreachable

const toFinding = (code: Finding['code'], text: string, also: readonly Judged[]): Finding => ({
  code,
  text,
  isAbsent: false,
  also: also.map(({ id }) => id),
})

function findEnd(target: URL, checks: readonly Judged[]): Finding {
  const isSuspect = ({ status, answers }: Judged) =>
    status !== 'pass' && answers.some(({ failureKind }) => failureKind === 'reset')
  const suspects = checks.filter(isSuspect).map(({ id }) => id)
  // The probe of an app ends with it. Of several suspects, most are innocent.
  const isFollowing = (check: Judged) =>
    check.answers.some(isEnd) || check.cause === 'probe_failed' || (suspects.length > 1 && isSuspect(check))
  const also = checks.filter(isFollowing)
  const isRefused = also.some(({ answers }) => answers.some(({ failureKind }) => failureKind === 'refused'))
  const end =
    isRefused || also.length === 0
      ? `nothing listened at ${showTarget(target)} any more: a delivery ended its process`
      : `no connection to ${showTarget(target)} was answered any more: a delivery ended its process, or what is in front of it fails`
  const where = suspects.length === 0 ? '' : ` Connections ended without an answer in ${suspects.join(', ')}.`
  const text = `The receiver answered, and then ${end}.${where} Its log says why. Deliveries that were only under way end as well: to find the one, start the receiver again and run these checks each alone (--only), and those that make work fail after its answer or cut connections (effect-ack-after-work, effect-once-after-cut).`
  return toFinding('ended', text, also)
}

/** A receiver that needs so long for one delivery needs more than the deadline for a burst, if it works on one after the other. */
const SLOW_MS = SERVICE_DEADLINE_MS / 50

function findSilence(checks: readonly Judged[]): Finding {
  const answered = checks.flatMap(({ answers }) => answers).filter(({ status }) => status !== undefined)
  const leastMs = Math.min(...answered.map(({ ms }) => ms))
  const text =
    leastMs > SLOW_MS && leastMs < Infinity
      ? `The receiver answered, and then no delivery got an answer in time any more: no answer took less than ${showSeconds(leastMs)}, and it seems to work on one delivery after the other, so that some arrive faster than it answers. An import sends hundreds in a moment. Answer when the event is safely stored, and do the work afterwards; or work on several at the same time. To judge it as it is, lower the concurrency of the checks.`
      : 'The receiver answered, and then no delivery got an answer in time any more: it hangs, or still works on earlier requests. Often it waits for something that these hold, such as connections to its database or a lock. Every way out of a request has to release them, refusals, errors and cut connections too. If it only works on one request after the other, lower the concurrency of the checks.'
  // A receiver that accepted some of a burst did not hang before it.
  const also = checks.filter(({ answers }) => answers.some(isSilence) && !answers.some(isSuccess))
  return toFinding('no_answer', text, also)
}

/** Makes the finding for a receiver that puts deliveries off for too long; undefined if only 503 did, and no check suffers from it. */
function findLimit(checks: readonly Judged[], isLimiting: boolean): Finding | undefined {
  const also = checks.filter(({ answers }) => findPutOff(answers) !== undefined)
  // A receiver that answers 503 to nothing but forgeries limits nothing: it fails when it verifies.
  const isHarmed = also.some((check) => check.group !== 'signature' && isComplaint(check))
  const text =
    'The receiver, or something in front of it, limits requests: it put deliveries off (429, or 503 with Retry-After) for longer than this run waits, or without a time. The checks that follow from this say nothing else about the receiver. Lift the limit for the run, wait longer (patience), or run fewer checks at the same time (concurrency).'
  return isLimiting || isHarmed ? toFinding('put_off', text, also) : undefined
}

/** Part of the patience in which a receiver that put deliveries off has to accept one again. */
const RECOVERY = 1 / 3

/**
 * Makes the finding for a receiver that still puts a plain delivery off after the time that its `Retry-After` asks for, though nothing else is
 * under way.
 */
async function findStuck(
  { make, sendOnce, wait, patienceMs, putOffBy }: RunScene,
  { also }: Finding,
  checks: readonly Judged[],
): Promise<Finding | undefined> {
  if (Math.min(...putOffBy.values()) > patienceMs) return undefined
  for (let waitedMs = 0; ; ) {
    const answer = await sendOnce(make.delivery(make.event()))
    if (!isPutOff(answer)) return undefined
    const waitMs = Math.max(readRetryAfterMs(answer) ?? Infinity, 50)
    if (waitMs > patienceMs) return undefined
    if (waitedMs >= patienceMs * RECOVERY || waitedMs + waitMs > patienceMs) {
      const first = checks.find(({ id }) => also.includes(id))
      const since = first === undefined ? '' : ` The first check with such an answer is ${first.id}.`
      const text = `The receiver put plain deliveries off (${describe(answer)}), and still did after the time that its Retry-After asks for, with nothing else under way.${since} It does not recover, and every later event is lost. Often a lock, a place or a connection is not given back: release it on every way out of a request, failures and refusals too (finally). If it limits requests: its Retry-After is shorter than the limit lasts.`
      return { code: 'no_recovery', text, isAbsent: false, also }
    }
    await wait(waitMs)
    waitedMs += waitMs
  }
}

/** Makes the finding for a receiver that refuses plain deliveries by now, or did so for a time after forgeries. */
function findShut({ by, after, areForGood }: Refusals, checks: readonly Judged[]): Finding | undefined {
  if (by === undefined) return undefined
  const isLocked = isRefusal(by)
  // A receiver that fails for a time, and recovers, is judged by each check.
  if (!areForGood && !isLocked) return undefined
  const also = checks.filter(({ answers }) => answers.some(({ status }) => status === by.status))
  const turn = `The receiver accepted plain deliveries at first, and ${areForGood ? 'then refused every one' : 'refused them for a time'}: ${describe(by)}.`
  if (!isLocked) {
    const failed = checks.find(
      ({ status, answers }) => status === 'fail' && answers.some((each) => each.status === by.status),
    )
    const since = failed === undefined ? '' : ` The first check with this answer is ${failed.id}.`
    const text = `${turn}${since} It does not recover from a failure, and every later event is lost: often a connection, a transaction or a "healthy" flag stays broken, a lock or a place is not given back, or a circuit breaker stays open (some checks make work fail on purpose). Open a new connection after an error, release what a request holds, and let one failed event fail alone. The checks that follow from this, and those left out, say nothing else about the receiver.`
    return toFinding('no_recovery', text, also)
  }
  const text = `${turn} Before that it got at least ${after} forged requests: it, or a firewall in front of it, locks the sender out after such requests. Behind a proxy, forgeries and deliveries seem to come from one address, and anyone can then stop the service's deliveries. Refuse each request by its own signature, or limit only requests whose signature is wrong. The checks that follow from this, and passes of signature checks after it, say nothing else about the receiver: lift the lock for the run, or leave the forgeries out (--skip signature --skip leak).`
  return toFinding('locked_out', text, also)
}

/** Returns true for a check that failed or warns. */
export const isComplaint = ({ status }: Judged) => status === 'fail' || status === 'warn'

/** At least so many checks fail at genuine deliveries if they have a cause in common. */
const SEVERAL = 3
/** Numbers of deliveries that come one after the other, and side by side. */
const [APART, SOME, MANY] = [8, 16, 50]
const PAIRS = 4
/** Number of failures after which a circuit breaker is likely to open. */
const FAILURES = 8

/** Makes the finding for a receiver that fails at genuine deliveries of some kind, if several checks failed at genuine ones. */
async function findLoss(scene: RunScene, checks: readonly Judged[]): Promise<Finding | undefined> {
  const also = checks.filter(
    (check) =>
      isComplaint(check) && (check.cause === 'not_done' || check.runs === 0 || check.answers.some(isTurnedDown)),
  )
  // Then no check judges the work.
  const isOnlyFirstDone =
    (await scene.counting().types.catch(() => ['failed'])).length === 0 && (await isFirstDone(scene))
  if (also.length < SEVERAL && !isOnlyFirstDone) return undefined
  const found = await findKind(scene)
  return found === undefined ? undefined : toFinding(found, LOSSES[found], also)
}

const isTurnedDown = (answer: Answer) =>
  answer.event !== undefined && (isRefusal(answer) || (answer.status ?? 0) >= 500)

/** Sends deliveries that differ from plain ones in one way each, and returns the first way in which some get lost. */
async function findKind(scene: RunScene): Promise<LossCode | undefined> {
  const { make, send, wait } = scene
  const countLost = await watchLosses(scene)
  const sendApart = async (toDelivery: (event: TestEvent) => TestDelivery, count = SEVERAL) => {
    const answers: Answer[] = []
    while (answers.length < count) {
      answers.push(await send(toDelivery(make.event())))
      await wait(2) // so that no timestamp comes twice
    }
    return countLost(answers)
  }
  const split = (event: TestEvent) => make.delivery(event, { toParts: holdBack })
  const sendTogether = async (count: number) =>
    countLost(await Promise.all(Array.from({ length: count }, () => send(split(make.event())))))

  const apart = await sendApart(make.delivery, APART)
  if (apart > 0 && apart < APART) return undefined
  const toOther = (event: TestEvent) => make.delivery({ ...event, id: `chk_${[...event.id].reverse().join('')}` })
  if (apart === APART) {
    if ((await sendApart(toOther)) > 0) return (await isFirstDone(scene)) ? 'no_more_work' : undefined
    // A queue that was held up may have moved on in the meantime.
    return (await sendApart(make.delivery)) > 0 ? 'similar_ids' : 'no_more_work'
  }
  if ((await sendApart(split)) > 0) return 'first_part'
  const { timestamp } = make.event()
  if ((await sendApart((event) => make.delivery({ ...event, timestamp }))) > 0) return 'same_time'
  for (let pair = 0; pair < PAIRS; pair++) if ((await sendTogether(2)) > 0) return 'side_by_side'
  for (const count of [SOME, MANY]) if ((await sendTogether(count)) > 0) return 'too_many'
  if (scene.probe === undefined) return undefined
  for (let failed = 0; failed < FAILURES; failed++) {
    const event = make.event()
    await scene.probe.fail(event.id)
    await scene.sendOnce(make.delivery(event))
  }
  return (await sendApart(make.delivery)) === SEVERAL ? 'no_more_work' : undefined
}

/** Returns true if the work of the first plain event was counted. */
async function isFirstDone({ probe, acknowledged }: RunScene): Promise<boolean> {
  const [first] = acknowledged.keys()
  return first !== undefined && ((await probe?.runs(first)) ?? 0) > 0
}

/** Returns a function that counts the deliveries that were refused, or whose acknowledged work is not done. */
async function watchLosses(scene: RunScene) {
  const { make, probe, counting, patienceMs } = scene
  const isCounted = (await counting().types).includes(make.plainType) || (await isFirstDone(scene))
  return async (answers: readonly Answer[]): Promise<number> => {
    const refused = answers.filter(isTurnedDown).length
    if (probe === undefined || !isCounted) return refused
    const ids = answers.flatMap((answer) => (isSuccess(answer) && answer.event ? [answer.event.id] : []))
    const probed = { ...scene, probe, patienceMs: patienceMs / 6 }
    const isLate = (await readSettled(probed, ...ids)).includes(0)
    const undone = isLate ? (await readAll(probed, ids)).filter((runs) => runs === 0).length : 0
    return refused + undone
  }
}

/** Texts of the kinds of deliveries that get lost. */
const LOSSES: Readonly<Record<LossCode, string>> = {
  no_more_work:
    'The receiver did the work of the first events, and then acknowledged events whose work it no longer did. Often a circuit breaker that opens after failures answers 2xx all the same (some checks make work fail on purpose), a worker has ended, a queue is full, or a failed event at its head holds up all that follow, until it succeeds or for as long as its retries wait. Let other events pass a failed one. Answer 503 as long as the work cannot be done, and let the service retry.',
  similar_ids:
    'The receiver takes events for duplicates of others whose ids begin alike: it compares the first characters of an id, or a column of its database is too short and cuts it. All events of this run have ids that begin alike, and hardly any was worked on. Compare whole ids.',
  first_part:
    'The receiver takes deliveries whose body arrives in one piece, and fails at those whose body arrives in several, as large ones do: it reads only the first part. Collect all parts until the body ends.',
  same_time:
    'The receiver takes events of one type that have the same timestamp for duplicates. An import changes many records in one millisecond. Compare the ids of events, and nothing else of them.',
  side_by_side:
    'The receiver takes deliveries that come one after the other, and fails at some of those that come side by side: requests share something. Often it is a variable outside of the handler, or a field of an object that handles all requests, that holds the raw body, the signature or the event while another request replaces it; or one connection or transaction for all; or one waits for a lock of the database for so long that it gives up ("database is locked", a lock timeout). Keep what belongs to a request in local variables, or on its own request object; hold a lock for as short a time as possible, and try again when it was not free.',
  too_many:
    'The receiver takes two deliveries side by side, and fails at some of many: a queue, a pool or a limit is full, and what comes on top is refused, or acknowledged and dropped; or a lock is taken one after the other, and the last ones no longer wait for it. Wait for a free place, or answer 503 with Retry-After; never 2xx. If nothing is limited: requests share something for a very short time.',
}

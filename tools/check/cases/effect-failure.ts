import type { Answer, Case, Scene, TestDelivery, TestEvent, Verdict } from '../case.ts'
import { isPutOff, isSuccess, notAccepted, readRetryAfterMs, toVerdict } from '../verdict.ts'
import { forEachType, judgeAll, narrow, type ProbedScene, readRuns, readSettled, withCounted } from '../work.ts'
import { COPIES, cutAt } from './send-at-once.ts'

/** Delays between further attempts, as fractions of `patienceMs`. */
const RETRY_WAITS = [1 / 30, 5 / 30, 6 / 30] as const

/** Times between the last byte of a body and the end of its connection, by name; none if the connection ends before it. */
const CUTS_MS = [0, 10, 100]
const CUTS: Readonly<Record<string, number | undefined>> = {
  'cut before the last byte': undefined,
  ...Object.fromEntries(CUTS_MS.map((ms) => [`cut ${ms} ms after the last byte`, ms])),
}

async function sendUntilAccepted(
  { sendOnce, patienceMs, wait, endTurn }: Scene,
  delivery: TestDelivery,
): Promise<Answer> {
  let answer = await sendOnce(delivery)
  let putOffMs = 0
  for (let retries = 0; retries < RETRY_WAITS.length; ) {
    // A receiver that holds what it failed at for ever would hold each retry for as long as it may.
    if (isSuccess(answer) || answer.failureKind === 'timeout') return answer
    const askedMs = readRetryAfterMs(answer)
    const waitMs = Math.min(askedMs ?? (RETRY_WAITS[retries] ?? 0) * patienceMs, patienceMs)
    // The failures of other checks may keep a circuit breaker open, longer than it would be at the service's own delays.
    if (askedMs !== undefined && isPutOff(answer) && putOffMs < patienceMs)
      putOffMs += Math.max(waitMs, patienceMs * RECOVERY_STEP)
    else retries++
    endTurn()
    await wait(waitMs)
    answer = await sendOnce(delivery)
  }
  return answer
}

/** Number of events that fail one after the other: more than the usual limits of circuit breakers. */
const FAILURES = 24
/** A receiver that refuses events for a time has to accept them again when the service retries. */
const [RECOVERY, RECOVERY_STEP] = [1.1, 1 / 20]

/** Sends a delivery until it is accepted, or longer than the service waits before its first retry. */
async function sendUntilRecovered({ sendOnce, patienceMs, wait }: Scene, delivery: TestDelivery): Promise<Answer> {
  const end = performance.now() + patienceMs * RECOVERY
  for (;;) {
    const answer = await sendOnce(delivery)
    if (isSuccess(answer) || answer.failureKind === 'timeout' || performance.now() >= end) return answer
    await wait(patienceMs * RECOVERY_STEP)
  }
}

const LOST =
  'A duplicate got a 2xx while the first delivery was still being handled, or the id was noted before the work had succeeded; then the work failed. Let the duplicate wait for the result of the first delivery, or at least answer it 409 or 503, which costs one of five attempts; note the id when its work has succeeded.'
const REPEATED =
  'After the failure, several duplicates did the work side by side: either no id is claimed before the work begins (effect-once-at-once fails then as well), or the failure lets all waiting duplicates go on at the same time. Let one of them try again: claim the id in one atomic step (a unique key, SET NX) before each try.'

/** Statuses of a receiver that has not started on the event: the secret is wrong, or a rate limit is reached. */
const UNSEEN: readonly (number | undefined)[] = [401, 429]

/** Returns true if the receiver has not started on the event, or nothing listens. */
const isUnseen = ({ status, isUnreachable }: Answer) => isUnreachable || UNSEEN.includes(status)

/** Passes if none of the answers is a 2xx, or if the work is done in the end. */
async function judgeAnswers(scene: ProbedScene, { id }: TestEvent, answers: readonly Answer[]): Promise<Verdict> {
  if (answers.every(isUnseen)) return notAccepted(answers)
  if (!answers.some(isSuccess)) return toVerdict('pass', answers)
  const runs = await readRuns(scene, id)
  return toVerdict(runs === 1 ? 'pass' : 'fail', answers, { runs })
}

export const effectFailure: readonly Case[] = [
  {
    id: 'effect-ack-after-work',
    sends:
      'An event whose work the probe makes fail, once and, if it counts these orders, twice; then the same event again until it is accepted, up to five times in all but for those that it puts off; of each type whose work it counts.',
    expects: 'No 2xx; or a 2xx after which the work is done, without another delivery, as an inbox does.',
    why: 'A 2xx ends the retries. Work that fails after it is lost, and nobody notices.',
    fix: 'Answer when the work is done, or when the event is safely stored and its work will be retried, more than once.',
    run: forEachType(async (scene, event) => {
      for (let times = 0; times < 2; times++) await scene.probe.fail(event.id)
      const delivery = scene.make.delivery(event)
      const first = await scene.sendOnce(delivery)
      if (isUnseen(first) || isSuccess(first)) return judgeAnswers(scene, event, [first])
      return judgeAnswers(scene, event, [first, await sendUntilAccepted(scene, delivery)])
    }),
  },
  {
    id: 'effect-once-after-cut',
    sends: `Events whose sender closes the connection before an answer, ${CUTS_MS.join(', ')} ms after the last byte, and one before the last byte; then each again until it is accepted, up to five times in all but for those that it puts off.`,
    expects: 'In the end a 2xx, and the probe reports that the work of each was done once.',
    why: 'The service, or a proxy on the way, gives up waiting, and the service then retries. A receiver that ends its work when the connection ends, and knows the id already, loses the event; one that forgets the id then does the work twice.',
    fix: 'Let the work go on when the connection ends, and let only its own success or failure decide whether the event is known.',
    run: withCounted((wide, makeEvent) => {
      const scene = narrow(wide)
      const { make, sendOnce, wait } = scene
      return judgeAll(Object.keys(CUTS), async (name) => {
        const event = makeEvent()
        const first = await sendOnce(make.delivery(event, { toParts: cutAt(CUTS[name]) }))
        scene.endTurn()
        await wait(scene.patienceMs * RETRY_WAITS[0])
        const last = await sendUntilAccepted(scene, make.delivery(event))
        if (isUnseen(last)) return notAccepted([first, last])
        if (!isSuccess(last)) return toVerdict('fail', [first, last])
        const runs = (await readRuns(scene, event.id)) && (await readSettled(scene, event.id))[0]
        return toVerdict(runs === 1 ? 'pass' : 'fail', [first, last], { runs: runs ?? 0 })
      })
    }),
  },
  {
    id: 'effect-copies-of-failure',
    sends: `An event whose work the probe makes fail once, ${COPIES} times concurrently.`,
    expects: 'No 2xx; or a 2xx after which the probe reports that the work was done, once.',
    why: 'If the work takes longer than the service waits, a duplicate arrives while the first is still being handled. A 2xx to the duplicate ends the retries, and the event is lost if the work fails. Duplicates that all do the work after a failure do it several times.',
    fix: `If the work was not done: ${LOST} If it was done several times: ${REPEATED}`,
    fixFor: (runs) => (runs === 0 ? LOST : REPEATED),
    alone: true,
    run: withCounted(async (scene, makeEvent) => {
      const event = makeEvent()
      await scene.probe.fail(event.id)
      const delivery = scene.make.delivery(event)
      const copies = Array.from({ length: COPIES }, () => scene.sendOnce(delivery))
      return judgeAnswers(scene, event, await Promise.all(copies))
    }),
  },
  {
    id: 'effect-retry-after-failure',
    sends:
      'An event whose work the probe makes fail twice, and after each failure the same event again, up to five times in all but for those that it puts off, unless one gets no answer; for each type whose work it counts.',
    expects: '2xx to one of them, and the probe reports that the work was done.',
    why: 'A receiver that marks the id as handled before the work is done takes the retry for a duplicate, answers 2xx, and the event is lost. So is one that is given up after its second failure.',
    fix: 'Mark an id as handled when its work has succeeded, and release it when the work fails, however often it fails. Answer each failure with 500: a path without an answer costs 10 s of every attempt.',
    run: forEachType(async (scene, event) => {
      const delivery = scene.make.delivery(event)
      await scene.probe.fail(event.id)
      const first = await scene.sendOnce(delivery)
      await scene.probe.fail(event.id)
      const last = isSuccess(first) ? first : await sendUntilAccepted(scene, delivery)
      if (isUnseen(first) && first.status === last.status) return notAccepted(last)
      const runs = isSuccess(last) ? await readRuns(scene, event.id) : 0
      return toVerdict(runs > 0 ? 'pass' : 'fail', first === last ? first : [first, last], { runs })
    }),
  },
  {
    id: 'effect-after-failures',
    sends: `After all other checks: ${FAILURES} events whose work the probe makes fail, and then another event, again and again until it is accepted.`,
    expects: 'A 2xx to the last within the patience, and the probe reports that its work was done.',
    why: 'Some events fail for a reason of their own, such as a field that a table does not take. A circuit breaker that counts these failures refuses all other events too; if it stays open for minutes, they use up their attempts.',
    fix: 'Let a failed event fail alone. If a circuit breaker has to be, count only failures of what every event needs, such as the database, and try again after seconds: the first retry of the service comes after 30 s.',
    alone: true,
    run: withCounted(async (scene, makeEvent) => {
      const { make, probe } = scene
      const { sendOnce } = narrow(scene)
      const failing = Array.from({ length: FAILURES }, makeEvent)
      for (const { id } of failing) await probe.fail(id)
      await Promise.all(failing.map((event) => sendOnce(make.delivery(event))))
      const event = makeEvent()
      const answer = await sendUntilRecovered(scene, make.delivery(event))
      if (isUnseen(answer)) return notAccepted(answer)
      const runs = isSuccess(answer) ? await readRuns(scene, event.id) : 0
      return toVerdict(runs > 0 ? 'pass' : 'fail', answer, { runs })
    }),
  },
]

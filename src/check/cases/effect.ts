import type { Case, Scene, TestEvent } from '../case.ts'
import type { Answer, Delivery } from '../exchange.ts'
import { FORGED } from '../forgery.ts'
import { countAnswers, describe, isPutOff, isSuccess, notAccepted } from '../verdict.ts'
import { type ProbedScene, readRuns, readSettled, timesDone, withProbe } from './with-probe.ts'

const COPIES = 8
/** More than a list of the last few holds, and fewer than a crowd. */
const OTHERS = 50
const TOGETHER = 20

/** The work of an event is done once, though it is sent again: `more` sends whatever follows the first delivery. */
const once = (more: (scene: ProbedScene, event: TestEvent) => Promise<unknown>) =>
  withProbe(async (scene) => {
    const event = scene.make.event()
    const first = await scene.send(scene.make.delivery(event))
    if (!isSuccess(first)) return notAccepted(first)
    await more(scene, event)
    await readRuns(scene, event.id)
    const runs = await readSettled(scene, event.id)
    return { status: runs === 1 ? 'pass' : 'fail', reason: timesDone(runs) }
  })

const sendAll = ({ send }: Scene, deliveries: readonly Delivery[]) => Promise.all(deliveries.map(send))

/** Those whose work has not been done when time is up. */
async function findUndone({ probe, patienceMs, wait }: ProbedScene, events: readonly TestEvent[]) {
  const end = performance.now() + patienceMs
  const undone = new Set(events)
  for (;;) {
    for (const event of undone) if ((await probe.runs(event.id)) > 0) undone.delete(event)
    if (undone.size === 0 || performance.now() >= end) return [...undone]
    await wait(50)
  }
}

/** Nothing has looked at the delivery. */
const isUnseen = (answer: Answer) => answer.isUnreachable || isPutOff(answer)

/** Whether the work is done as often as it should be. All of it needs a probe. */
export const effect: readonly Case[] = [
  {
    id: 'effect-once',
    level: 'fail',
    sends: 'The same event twice, one after the other.',
    expects: 'The probe says that its work was done once.',
    why: 'The service repeats a delivery whose answer it did not see; doing its work again makes second orders and second mails.',
    fix: 'Remember the ids of handled events for at least three hours, better seven days.',
    run: once(({ make, send }, event) => send(make.delivery(event))),
  },
  {
    id: 'effect-once-at-once',
    level: 'fail',
    sends: `The same event ${COPIES} times at once.`,
    expects: 'The probe says that its work was done once.',
    why: 'Between looking whether an id is known and writing it down there is room for a copy.',
    fix: 'Claim the id in one atomic step (a unique key, SET NX), before the work begins.',
    alone: true,
    run: withProbe(async (scene) => {
      const event = scene.make.event()
      const delivery = scene.make.delivery(event)
      const answers = await sendAll(scene, Array(COPIES).fill(delivery))
      if (!answers.some(isSuccess))
        return { status: 'skipped', reason: `no copy was accepted: ${countAnswers(answers)}` }
      await readRuns(scene, event.id)
      const runs = await readSettled(scene, event.id)
      return { status: runs === 1 ? 'pass' : 'fail', reason: `${timesDone(runs)}; ${countAnswers(answers)}` }
    }),
  },
  {
    id: 'effect-once-other-bytes',
    level: 'fail',
    sends: 'An event, and then the same id with another timestamp, and so with other bytes and another signature.',
    expects: 'The probe says that its work was done once.',
    why: 'Only the id tells an event from another. Whether a retry has the bytes of the first attempt is not documented.',
    fix: 'Remember the id of the event, and not a hash of the body, the signature or several fields.',
    run: once(({ make, send }, event) =>
      send(make.delivery({ ...event, timestamp: new Date(Date.now() + 1_000).toISOString() })),
    ),
  },
  {
    id: 'effect-once-after-others',
    level: 'fail',
    sends: `An event, ${OTHERS} others concurrently, and then the first one again.`,
    expects: 'The probe says that its work was done once.',
    why: 'The last attempt comes more than two and a half hours after the first, and any number of events between them.',
    fix: 'Keep the ids for a time, three hours at least and better seven days, however many they are.',
    alone: true,
    run: once(async (scene, event) => {
      const others = Array.from({ length: OTHERS }, () => scene.make.delivery(scene.make.event()))
      await sendAll(scene, others)
      await scene.send(scene.make.delivery(event))
    }),
  },
  {
    id: 'effect-each-at-once',
    level: 'fail',
    sends: `${TOGETHER} events at once, with an id each.`,
    expects: 'The probe says that the work was done of all that got a 2xx.',
    why: 'Requests that keep their event in one shared variable take that of another: it is done in place of their own, which is lost behind a 2xx.',
    fix: 'Keep what belongs to a request in variables of its own, not of the module or of an object that all requests share.',
    alone: true,
    run: withProbe(async (scene) => {
      const { make } = scene
      const events = Array.from({ length: TOGETHER }, () => make.event())
      const answers = await sendAll(
        scene,
        events.map((event) => make.delivery(event)),
      )
      const accepted = events.filter((_, at) => answers.slice(at, at + 1).some(isSuccess))
      const lost = await findUndone(scene, accepted)
      const reason = `${countAnswers(answers)}; the work of ${accepted.length - lost.length} was done`
      return { status: accepted.length === 0 ? 'skipped' : lost.length === 0 ? 'pass' : 'fail', reason }
    }),
  },
  {
    id: 'effect-none-refused',
    level: 'fail',
    sends: 'An event with a wrong signature.',
    expects: 'The probe says that its work was not done.',
    why: 'A refusal that comes after the work is none.',
    fix: 'Check the signature before anything else.',
    run: withProbe(async (scene) => {
      const { make, send } = scene
      const event = make.event()
      const answer = await send(make.delivery(event, FORGED))
      const runs = await readSettled(scene, event.id)
      if (runs === 0 && isUnseen(answer)) return notAccepted(answer)
      return { status: runs === 0 ? 'pass' : 'fail', reason: `${timesDone(runs)}; ${describe(answer)}` }
    }),
  },
  {
    id: 'effect-after-forgery',
    level: 'fail',
    sends: 'An event with a wrong signature, and then the same one as the service signs it.',
    expects: '2xx to the second, and the probe says that its work was done.',
    why: 'Who notes an id before the signature is checked takes the genuine event for a copy: whoever guesses an id makes its event be lost.',
    fix: 'Check the signature before anything is noted of the event.',
    run: withProbe(async (scene) => {
      const { make, send } = scene
      const event = make.event()
      const forged = await send(make.delivery(event, FORGED))
      const genuine = await send(make.delivery(event))
      const isDone = isSuccess(genuine) && (await readRuns(scene, event.id)) > 0
      const what = isDone ? 'the work was done' : 'the work was not done'
      return {
        status: isDone ? 'pass' : 'fail',
        reason: `first ${describe(forged)}, then ${describe(genuine)}; ${what}`,
      }
    }),
  },
]

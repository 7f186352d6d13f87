import { setTimeout as sleep } from 'node:timers/promises'
import type { Case, Scene, TestEvent, Verdict } from '../case.ts'
import type { Answer, Delivery } from '../exchange.ts'
import { contact } from '../maker.ts'
import type { Probe } from '../probe.ts'
import { countAnswers, describe, isSuccess, readRetryAfterMs } from '../verdict.ts'

const COPIES = 8
/** More than a list of the last few holds, and fewer than a crowd. */
const OTHERS = 50
/** What has been acknowledged may be done a little later. */
const SETTLE_MS = 300
/** Waits between further attempts, as parts of the patience. */
const RETRY_WAITS = [1 / 30, 5 / 30, 24 / 30]

/** A scene with a probe. */
interface ProbedScene extends Scene {
  readonly probe: Probe
}

/** How often the work has been done once it has come to at least one, or time is up. */
async function readRuns({ probe, patienceMs }: ProbedScene, id: string): Promise<number> {
  const end = performance.now() + patienceMs
  for (;;) {
    const runs = await probe.runs(id)
    if (runs > 0 || performance.now() >= end) return runs
    await sleep(50)
  }
}

/** The same, when a second run has had time to show: an event behind it tells when a queue has come past it. */
async function readSettled(scene: ProbedScene, id: string): Promise<number> {
  const { make, send, probe } = scene
  const marker = make.event()
  if (isSuccess(await send(make.delivery(marker)))) await readRuns(scene, marker.id)
  await sleep(SETTLE_MS)
  return probe.runs(id)
}

const withProbe =
  (judge: (scene: ProbedScene) => Promise<Verdict>) =>
  async (scene: Scene): Promise<Verdict> =>
    scene.probe === undefined
      ? { status: 'skipped', reason: 'not observable without a probe' }
      : judge({ ...scene, probe: scene.probe })

const timesDone = (runs: number) => `the work was done ${runs === 1 ? 'once' : `${runs} times`}`

const notAccepted = (answer: Answer): Verdict => ({
  status: 'skipped',
  reason: `the event was not accepted: ${describe(answer)}`,
})

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

/** Sends it as often as the service does, though not as slowly, until it is accepted. */
async function sendUntilAccepted({ sendOnce, patienceMs }: Scene, delivery: Delivery): Promise<Answer> {
  let answer = await sendOnce(delivery)
  for (const part of RETRY_WAITS) {
    if (isSuccess(answer)) return answer
    await sleep(Math.min(readRetryAfterMs(answer) ?? part * patienceMs, patienceMs))
    answer = await sendOnce(delivery)
  }
  return answer
}

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
    id: 'effect-each-event',
    level: 'fail',
    sends: 'Two contact.updated events of the same record, with an id each.',
    expects: 'The probe says that the work of both was done.',
    why: 'A record changes more than once. Who remembers the id of the record takes the second change for a copy, and loses it.',
    fix: 'Remember the id of the event, not the _id of its record.',
    run: withProbe(async (scene) => {
      const { make, send } = scene
      const update = { type: 'contact.updated', data: { record: contact(make.event().id.replace('evt_', '')) } }
      const [first, second] = [make.event(update), make.event(update)]
      const answer = await send(make.delivery(first))
      if (!isSuccess(answer)) return notAccepted(answer)
      if ((await readRuns(scene, first.id)) === 0)
        return { status: 'skipped', reason: 'the work of contact.updated events is not counted' }
      await send(make.delivery(second))
      const isDone = (await readRuns(scene, second.id)) > 0
      return { status: isDone ? 'pass' : 'fail', reason: isDone ? 'both were done' : 'the second was not done' }
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
      const answer = await send(make.delivery(event, { signature: () => `sha256=${'0'.repeat(64)}` }))
      const runs = await readSettled(scene, event.id)
      return { status: runs === 0 ? 'pass' : 'fail', reason: `${timesDone(runs)}; ${describe(answer)}` }
    }),
  },
  {
    id: 'effect-ack-after-work',
    level: 'fail',
    sends: 'An event whose work the probe makes fail.',
    expects: 'No 2xx; or a 2xx after which the work is done again without another delivery, as an inbox does.',
    why: 'A 2xx ends the retries. What fails behind it is lost, and nobody learns of it.',
    fix: 'Answer when the work is done, or when the event is safely stored and its work will be tried again.',
    run: withProbe(async (scene) => {
      const { make, sendOnce, probe } = scene
      const event = make.event()
      await probe.fail(event.id)
      const answer = await sendOnce(make.delivery(event))
      if (!isSuccess(answer)) return { status: 'pass', reason: describe(answer) }
      const runs = await readRuns(scene, event.id)
      return { status: runs > 0 ? 'pass' : 'fail', reason: `${describe(answer)}; ${timesDone(runs)}` }
    }),
  },
  {
    id: 'effect-retry-after-failure',
    level: 'fail',
    sends: 'An event whose work the probe makes fail once, and then the same event again, up to four times.',
    expects: '2xx to one of them, and the probe says that the work was done.',
    why: 'Who notes the id before the work is done takes the retry for a copy, and the event is lost behind a 2xx.',
    fix: 'Note an id as handled when its work has succeeded, and let go of it when the work fails.',
    run: withProbe(async (scene) => {
      const { make, sendOnce, probe } = scene
      const event = make.event()
      await probe.fail(event.id)
      const first = await sendOnce(make.delivery(event))
      if (isSuccess(first))
        return {
          status: 'skipped',
          reason: `first ${describe(first)}, so there is no retry; see effect-ack-after-work`,
        }
      const last = await sendUntilAccepted(scene, make.delivery(event))
      if (first.status === 401 && last.status === 401) return notAccepted(last)
      const isDone = isSuccess(last) && (await readRuns(scene, event.id)) > 0
      const what = isDone ? 'the work was done' : 'the work was not done'
      return { status: isDone ? 'pass' : 'fail', reason: `first ${describe(first)}, then ${describe(last)}; ${what}` }
    }),
  },
]

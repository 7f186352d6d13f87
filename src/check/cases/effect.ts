import { setTimeout as sleep } from 'node:timers/promises'
import type { Case, Scene, Verdict } from '../case.ts'
import type { Probe } from '../probe.ts'
import { countAnswers, describe, isRefusal, isSuccess } from '../verdict.ts'

const COPIES = 8
/** What has been acknowledged may be done a little later. */
const SETTLE_MS = 300

/** How often the work has been done once it has come to at least `wanted`, or time is up. */
async function readRuns(probe: Probe, id: string, wanted: number, waitMs: number): Promise<number> {
  const end = performance.now() + waitMs
  for (;;) {
    const runs = await probe.runs(id)
    if (runs >= wanted || performance.now() >= end) return runs
    await sleep(50)
  }
}

/** The same, when a late second run has had time to show. */
async function readSettled(probe: Probe, id: string, waitMs: number): Promise<number> {
  await readRuns(probe, id, 1, waitMs)
  await sleep(SETTLE_MS)
  return probe.runs(id)
}

const withProbe =
  (judge: (scene: Scene, probe: Probe) => Promise<Verdict>) =>
  async (scene: Scene): Promise<Verdict> =>
    scene.probe === undefined
      ? { status: 'skipped', reason: 'not observable without a probe' }
      : judge(scene, scene.probe)

const timesDone = (runs: number) => `the work was done ${runs === 1 ? 'once' : `${runs} times`}`

/** Whether the work is done as often as it should be. All of it needs a probe. */
export const effect: readonly Case[] = [
  {
    id: 'effect-once',
    level: 'fail',
    sends: 'The same event twice, one after the other.',
    expects: 'The probe says that its work was done once.',
    why: 'The service repeats a delivery whose answer it did not see; doing its work again makes second orders and second mails.',
    fix: 'Remember the ids of handled events for at least three hours, better seven days.',
    run: withProbe(async ({ make, send, timeoutMs }, probe) => {
      const event = make.event()
      const first = await send(make.delivery(event))
      if (!isSuccess(first)) return { status: 'skipped', reason: `the event was not accepted: ${describe(first)}` }
      await send(make.delivery(event))
      const runs = await readSettled(probe, event.id, timeoutMs)
      return { status: runs === 1 ? 'pass' : 'fail', reason: timesDone(runs) }
    }),
  },
  {
    id: 'effect-once-at-once',
    level: 'fail',
    sends: `The same event ${COPIES} times at once.`,
    expects: 'The probe says that its work was done once.',
    why: 'Between looking whether an id is known and writing it down there is room for a copy.',
    fix: 'Claim the id in one atomic step (a unique key, SET NX), before the work begins.',
    alone: true,
    run: withProbe(async ({ make, send, timeoutMs }, probe) => {
      const event = make.event()
      const delivery = make.delivery(event)
      const answers = await Promise.all(Array.from({ length: COPIES }, () => send(delivery)))
      if (!answers.some(isSuccess))
        return { status: 'skipped', reason: `no copy was accepted: ${countAnswers(answers)}` }
      const runs = await readSettled(probe, event.id, timeoutMs)
      return { status: runs === 1 ? 'pass' : 'fail', reason: `${timesDone(runs)}; ${countAnswers(answers)}` }
    }),
  },
  {
    id: 'effect-none-refused',
    level: 'fail',
    sends: 'An event with a wrong signature.',
    expects: 'The probe says that its work was not done.',
    why: 'A refusal that comes after the work is none.',
    fix: 'Check the signature before anything else.',
    run: withProbe(async ({ make, send }, probe) => {
      const event = make.event()
      const answer = await send(make.delivery(event, { signature: () => `sha256=${'0'.repeat(64)}` }))
      await sleep(SETTLE_MS)
      const runs = await probe.runs(event.id)
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
    run: withProbe(async ({ make, send, timeoutMs }, probe) => {
      const event = make.event()
      await probe.fail(event.id)
      const answer = await send(make.delivery(event))
      if (!isSuccess(answer)) return { status: 'pass', reason: describe(answer) }
      const runs = await readRuns(probe, event.id, 1, Math.min(timeoutMs, 3_000))
      return { status: runs > 0 ? 'pass' : 'fail', reason: `${describe(answer)}; ${timesDone(runs)}` }
    }),
  },
  {
    id: 'effect-retry-after-failure',
    level: 'fail',
    sends: 'An event whose work the probe makes fail once, and then the same event again.',
    expects: '2xx to the second, and the probe says that the work was done.',
    why: 'Who notes the id before the work is done takes the retry for a copy, and the event is lost behind a 2xx.',
    fix: 'Note an id as handled when its work has succeeded, and let go of it when the work fails.',
    run: withProbe(async ({ make, send, timeoutMs }, probe) => {
      const event = make.event()
      await probe.fail(event.id)
      const first = await send(make.delivery(event))
      if (isSuccess(first))
        return {
          status: 'skipped',
          reason: `first ${describe(first)}, so there is no retry; see effect-ack-after-work`,
        }
      const before = await probe.runs(event.id)
      const second = await send(make.delivery(event))
      if (isRefusal(first) && isRefusal(second))
        return { status: 'skipped', reason: `the event was not accepted: ${describe(second)}` }
      const after = await readRuns(probe, event.id, before + 1, Math.min(timeoutMs, 3_000))
      const isDone = isSuccess(second) && after > before
      const what = after > before ? 'the work was done' : 'the work was not done'
      return { status: isDone ? 'pass' : 'fail', reason: `first ${describe(first)}, then ${describe(second)}; ${what}` }
    }),
  },
]

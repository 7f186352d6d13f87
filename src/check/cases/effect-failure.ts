import type { Case, Scene } from '../case.ts'
import type { Answer, Delivery } from '../exchange.ts'
import { countAnswers, describe, isSuccess, notAccepted, readRetryAfterMs } from '../verdict.ts'
import { readRuns, timesDone, withProbe } from './with-probe.ts'

const COPIES = 8
/** Waits between further attempts, as parts of the patience. */
const RETRY_WAITS = [1 / 30, 5 / 30, 24 / 30]

/** Sends it as often as the service does, though not as slowly, until it is accepted. */
async function sendUntilAccepted({ sendOnce, patienceMs, wait }: Scene, delivery: Delivery): Promise<Answer> {
  let answer = await sendOnce(delivery)
  for (const part of RETRY_WAITS) {
    if (isSuccess(answer)) return answer
    await wait(Math.min(readRetryAfterMs(answer) ?? part * patienceMs, patienceMs))
    answer = await sendOnce(delivery)
  }
  return answer
}

/** The receiver has not begun with it: nothing listens, the limit is reached, or the secret is another one. */
const isUnseen = ({ status, isUnreachable }: Answer) => isUnreachable || status === 429 || status === 401

/** What becomes of an event whose work fails. */
export const effectFailure: readonly Case[] = [
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
      if (isUnseen(answer)) return notAccepted(answer)
      if (!isSuccess(answer)) return { status: 'pass', reason: describe(answer) }
      const runs = await readRuns(scene, event.id)
      return { status: runs > 0 ? 'pass' : 'fail', reason: `${describe(answer)}; ${timesDone(runs)}` }
    }),
  },
  {
    id: 'effect-copies-of-failure',
    level: 'fail',
    sends: `An event whose work the probe makes fail once, ${COPIES} times at once.`,
    expects: 'No 2xx; or a 2xx after which the probe says that the work was done.',
    why: 'A copy comes while the work is still under way, where that takes longer than the service waits. A 2xx to it ends the retries, and the event is lost if the work fails.',
    fix: 'Let the copy wait for the result of the first one, or answer it 409 or 503. Answer 2xx when the work is done.',
    alone: true,
    run: withProbe(async (scene) => {
      const { make, sendOnce, probe } = scene
      const event = make.event()
      await probe.fail(event.id)
      const delivery = make.delivery(event)
      const answers = await Promise.all(Array.from({ length: COPIES }, () => sendOnce(delivery)))
      const reason = countAnswers(answers)
      if (answers.every(isUnseen)) return { status: 'skipped', reason: `no copy was accepted: ${reason}` }
      if (!answers.some(isSuccess)) return { status: 'pass', reason }
      const runs = await readRuns(scene, event.id)
      return { status: runs > 0 ? 'pass' : 'fail', reason: `${reason}; ${timesDone(runs)}` }
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

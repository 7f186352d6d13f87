import type { Answer, Case, Scene, TestDelivery, TestEvent, Verdict } from '../case.ts'
import { capAt, isSuccess, isUnjudged, notAccepted, toVerdict } from '../verdict.ts'
import {
  forEachType,
  isWorking,
  judgeAll,
  narrow,
  type ProbedScene,
  readRuns,
  readSettled,
  withCounted,
  withProbe,
} from '../work.ts'
import { COPIES, holdBack } from './send-at-once.ts'
import { fromNow, LAST_ATTEMPT_MS } from './time.ts'

/** More events than a list of recent ids holds by default, such as 128 in Python or a round 1,000, as far as the receiver is quick enough. */
const [LEAST_OTHERS, MOST_OTHERS, OTHERS_MS] = [150, 1_050, 3_000]
/** They are sent in turns that do not overload a receiver. */
const TURN = 50
/** Part of the patience that passes between the first events of a run and their duplicates at its end. */
const LATE = 0.7
/** When duplicates of an event come that is being handled. */
const AFTER_MS = [100, 300, 600, 1_000, 2_000]
/** Events whose duplicates race: one alone may miss a short gap. */
const RACES = 3

/** Returns the number of runs of an event: 0 if none began in time, and otherwise once a second run had time to happen. */
async function countRuns(scene: ProbedScene, id: string): Promise<number> {
  if ((await readRuns(scene, id)) === 0) return 0
  const [runs = 0] = await readSettled(scene, id)
  return runs
}

/** Passes if the work of an event is done once, though the event is sent so many times: `more` sends it again, and returns the answer. */
const once =
  (more: (scene: ProbedScene, event: TestEvent) => Promise<Answer>, times = 2) =>
  async (scene: ProbedScene, event: TestEvent): Promise<Verdict> => {
    const first = await scene.send(scene.make.delivery(event))
    if (!isSuccess(first)) return notAccepted(first)
    const second = await more(scene, event)
    const runs = await countRuns(scene, event.id)
    if (runs === 1 && isUnjudged(second)) return toVerdict('skipped', second, { cause: 'not_judged' })
    const isPartly = isSuccess(second) && runs > 1 && runs < times
    return toVerdict(runs === 1 && isSuccess(second) ? 'pass' : 'fail', [first, second], { runs, isPartly })
  }

const sendAgain = once(async ({ make, send }, event) => {
  const second = await send(make.delivery(event))
  return isSuccess(second) ? send(make.delivery(event)) : second
}, 3)

const BY_HAND = 'two days'
/** Ages of events at the attempts of the service, and at later ones by hand. */
const AGES: Readonly<Record<string, number>> = {
  '35 s': 35_000,
  '6 min': 360_000,
  '36 min': 2_160_000,
  '2 h 37 min': LAST_ATTEMPT_MS,
  [BY_HAND]: 172_800_000,
}

const onceCounted = (more: Parameters<typeof once>[0]) =>
  withCounted((scene, makeEvent) => once(more)(scene, makeEvent()))

const sendAll = ({ send }: Scene, deliveries: readonly TestDelivery[]) => Promise.all(deliveries.map(send))

const makeEach = <T>(length: number, make: () => T): readonly T[] => Array.from({ length }, make)

export const effectOnce: readonly Case[] = [
  {
    id: 'effect-once',
    sends: 'The same event three times, one after the other, of each type whose work the probe counts.',
    expects: '2xx each time, and the probe reports that its work was done once.',
    why: 'The service retries a delivery whose answer it did not receive; doing its work again creates a second order or sends a second e-mail.',
    fix: 'Remember the ids of handled events for at least three hours, or better for seven days.',
    run: forEachType(sendAgain),
  },
  {
    id: 'effect-once-at-once',
    sends: `${RACES} events, each ${COPIES} times, all concurrently: the last bytes of all arrive at the same moment.`,
    expects: 'The probe reports that the work of each was done once.',
    why: 'A duplicate can arrive between the check for a known id and the write that stores it.',
    fix: 'Claim the id in one atomic step (a unique key, SET NX) before the work begins.',
    alone: true,
    run: withCounted(async (scene, makeEvent) => {
      const events = makeEach(RACES, makeEvent)
      const copies = events.flatMap((event) =>
        makeEach(COPIES, () => scene.make.delivery(event, { toParts: holdBack })),
      )
      const answers = await sendAll(scene, copies)
      const accepted = events.filter((_, at) => answers.slice(at * COPIES, (at + 1) * COPIES).some(isSuccess))
      if (accepted.length === 0) return notAccepted(answers)
      const done = await Promise.all(accepted.map(({ id }) => readRuns(scene, id)))
      if (done.includes(0)) return toVerdict('fail', answers, { runs: 0 })
      const runs = await readSettled(scene, ...accepted.map(({ id }) => id))
      const other = runs.find((count) => count !== 1)
      return toVerdict(other === undefined ? 'pass' : 'fail', answers, { runs: other ?? 1 })
    }),
  },
  {
    id: 'effect-once-while-working',
    sends: `An event, and then duplicates of it as long as it has not been answered: after ${AFTER_MS.join(', ')} ms.`,
    expects: 'The probe reports that its work was done once.',
    why: 'A claim that ends sooner than the work lets the next duplicate do it again, while the first one still does.',
    fix: 'Renew the claim as long as the work runs, or let it last longer than the slowest work.',
    run: withCounted(async (scene, makeEvent) => {
      const event = makeEvent()
      const delivery = scene.make.delivery(event)
      let isAnswered = false
      const first = scene.sendOnce(delivery).finally(() => {
        isAnswered = true
      })
      const more: Promise<Answer>[] = []
      const since = performance.now()
      for (const ms of AFTER_MS) {
        await scene.wait(Math.max(since + ms - performance.now(), 0))
        if (isAnswered) break
        more.push(scene.sendOnce(delivery))
      }
      const answers = await Promise.all([first, ...more])
      if (!answers.some(isSuccess)) return notAccepted(answers)
      const runs = await countRuns(scene, event.id)
      return toVerdict(runs === 1 ? 'pass' : 'fail', answers, { runs })
    }),
  },
  {
    id: 'effect-once-late',
    sends: `Events whose timestamps are ${Object.keys(AGES).join(', ')} old, each three times.`,
    expects: `2xx each time, and the probe reports that the work of each was done once; a warning for ${BY_HAND}.`,
    why: 'Retries come until 2 h 37 min after their event, and one by hand days after it. A receiver that compares ids of recent events only, or keeps an id until some time after its timestamp, does the work again.',
    fix: 'Look for the id of every event, whatever its age, and keep it for a time that begins when the work was done.',
    run: withCounted((scene, makeEvent) =>
      judgeAll(Object.keys(AGES), async (age) => {
        const verdict = await sendAgain(narrow(scene), { ...makeEvent(), timestamp: fromNow(-(AGES[age] ?? 0)) })
        // Another check judges whether events of this age are accepted.
        if (verdict.runs === 0) return { ...verdict, status: 'skipped' }
        return age === BY_HAND ? capAt('warn', verdict) : verdict
      }),
    ),
  },
  {
    id: 'effect-once-other-bytes',
    sends: 'An event, and then the same id with an earlier timestamp, and therefore other bytes and another signature.',
    expects: '2xx both times, and the probe reports that its work was done once.',
    why: 'Only the id identifies an event. The service does not document that a retry has the same bytes as the first attempt.',
    fix: 'Remember the id of the event, not a hash of the body, the signature or several fields.',
    run: onceCounted(({ make, send }, event) => send(make.delivery({ ...event, timestamp: fromNow(-1_000) }))),
  },
  {
    id: 'effect-once-after-others',
    sends: `An event, others, ${TURN} of them concurrently, and then the first one again: ${LEAST_OTHERS} others or, if the receiver does their work as fast, as many as it takes in ${OTHERS_MS / 1_000} s, up to ${MOST_OTHERS}.`,
    expects: '2xx to the first one both times, and the probe reports that its work was done once.',
    why: 'The last attempt comes more than two and a half hours after the first, with any number of events between them.',
    fix: 'Keep ids by time, not by number: for at least three hours, or better for seven days.',
    alone: true,
    run: onceCounted(async (scene, event) => {
      const { make, probe } = scene
      const end = performance.now() + OTHERS_MS
      const isQuick = async ({ id } = event) => performance.now() < end && (await probe.runs(id)) > 0
      for (let sent = 0, isMore = true; isMore && sent < MOST_OTHERS; sent += TURN) {
        const others = makeEach(TURN, () => make.event({ type: event.type }))
        // The first ones show whether a queue moves; to ask for all would take too long.
        const deliveries = others.map((other) => ({
          ...make.delivery(other),
          event: sent < LEAST_OTHERS ? other : undefined,
        }))
        await sendAll(scene, deliveries)
        isMore = sent + TURN < LEAST_OTHERS || (await isQuick(others[0]))
      }
      return scene.send(make.delivery(event))
    }),
  },
  {
    id: 'effect-once-at-end',
    sends:
      'The first events of the run again, after all checks but effect-after-failures, and not before 70 % of the patience have passed since them (21 s by default).',
    expects: '2xx, and the probe reports that the work of each was done once.',
    why: 'The last attempt comes more than two and a half hours after the first. A list of ids that holds hundreds, or keeps them for seconds, has forgotten it by then.',
    fix: 'Keep ids by time, not by number: for at least three hours, or better for seven days.',
    run: withProbe(async (scene) => {
      const { make, probe } = scene
      const first = [...scene.acknowledged.values()].slice(0, RACES)
      const runs = await Promise.all(first.map(({ event }) => probe.runs(event.id)))
      const done = first.flatMap(({ event }, at) => (runs[at] === 1 ? [event] : []))
      if (done.length === 0) return toVerdict('skipped', [], { cause: 'not_counted' })
      if (!(await isWorking(scene))) return toVerdict('skipped', [], { cause: 'behind' })
      scene.endTurn()
      const since = Math.max(...first.map(({ at }) => at))
      await scene.wait(Math.max(since + scene.patienceMs * LATE - performance.now(), 0))
      const answers = await sendAll(
        scene,
        done.map((event) => make.delivery(event)),
      )
      const again = await readSettled(scene, ...done.map(({ id }) => id))
      const other = again.find((count) => count !== 1)
      return toVerdict(other === undefined && answers.every(isSuccess) ? 'pass' : 'fail', answers, { runs: other ?? 1 })
    }),
  },
]

import type { Answer, Case, Scene, TestDelivery, TestEvent, Verdict } from '../case.ts'
import { FORGED } from '../maker.ts'
import { isPutOff, isSuccess, isUnjudged, notAccepted, toVerdict } from '../verdict.ts'
import {
  forEachType,
  type ProbedScene,
  readRuns,
  readSettled,
  sendEvent,
  TYPES,
  withPlain,
  withProbe,
} from '../work.ts'
import { COPIES } from './send-at-once.ts'

/** More events than a list of recent ids holds by default, such as 128 in Python, sent in turns that do not overload a receiver. */
const OTHERS = 150
const TURN = 50
/** Events whose duplicates race: one alone may miss a short gap. */
const RACES = 3

/** Passes if the work of an event is done once, though the event is sent again: `more` does this, and returns the answer. */
const once =
  (more: (scene: ProbedScene, event: TestEvent) => Promise<Answer>) =>
  async (scene: ProbedScene, event: TestEvent): Promise<Verdict> => {
    const first = await scene.send(scene.make.delivery(event))
    if (!isSuccess(first)) return notAccepted(first)
    const second = await more(scene, event)
    await readRuns(scene, event.id)
    const [runs = 0] = await readSettled(scene, event.id)
    if (runs === 1 && isUnjudged(second)) return toVerdict('skipped', second, { cause: 'not_judged' })
    return toVerdict(runs === 1 ? 'pass' : 'fail', [first, second], { runs })
  }

const oncePlain = (more: Parameters<typeof once>[0]) => withPlain((scene) => once(more)(scene, scene.make.event()))

const sendAll = ({ send }: Scene, deliveries: readonly TestDelivery[]) => Promise.all(deliveries.map(send))

const makeEach = <T>(length: number, make: () => T): readonly T[] => Array.from({ length }, make)

/** Returns true if the receiver has not processed the delivery: nothing listens, or it put the delivery off. */
const isUnseen = (answer: Answer) => answer.isUnreachable || isPutOff(answer)

const agoOf = (ms: number) => new Date(Date.now() - ms).toISOString()

export const effect: readonly Case[] = [
  {
    id: 'effect-types',
    sends:
      'An event of each documented type, those of changes after the contact was created. The other checks of this group judge the types whose work the probe counts.',
    expects: 'The probe reports that the work of each, or at least of one, was done; the report lists the others.',
    why: 'Code that fails at a type, and answers 2xx all the same, loses its events. Only the owner knows which types have work.',
    fix: 'If a handler exists for a type in the list, find out why the probe does not count its work. If the receiver has work for none of them, leave this group out (--skip effect).',
    run: withProbe(async (scene) => {
      const counted = await scene.countedTypes()
      const others = TYPES.filter((type) => !counted.includes(type))
      if (others.length === 0) return toVerdict('pass', [], { note: 'the work of each type is counted' })
      return toVerdict(counted.length > 0 ? 'info' : 'fail', [], { note: `not counted: ${others.join(', ')}` })
    }),
  },
  {
    id: 'effect-once',
    sends: 'The same event twice, one after the other, of each type whose work the probe counts.',
    expects: 'The probe reports that its work was done once.',
    why: 'The service retries a delivery whose answer it did not receive; doing its work again creates a second order or sends a second e-mail.',
    fix: 'Remember the ids of handled events for at least three hours, or better for seven days.',
    run: forEachType(once(({ make, send }, event) => send(make.delivery(event)))),
  },
  {
    id: 'effect-once-at-once',
    sends: `${RACES} events, each ${COPIES} times, all concurrently: the last bytes of all arrive at the same moment.`,
    expects: 'The probe reports that the work of each was done once.',
    why: 'A duplicate can arrive between the check for a known id and the write that stores it.',
    fix: 'Claim the id in one atomic step (a unique key, SET NX) before the work begins.',
    alone: true,
    run: withPlain(async (scene) => {
      const events = makeEach(RACES, () => scene.make.event())
      const copies = events.flatMap((event) => makeEach(COPIES, () => scene.make.delivery(event, { holdMs: 100 })))
      const answers = await sendAll(scene, copies)
      const accepted = events.filter((_, at) => answers.slice(at * COPIES, (at + 1) * COPIES).some(isSuccess))
      if (accepted.length === 0) return notAccepted(answers)
      for (const { id } of accepted) await readRuns(scene, id)
      const runs = await readSettled(scene, ...accepted.map(({ id }) => id))
      const other = runs.find((count) => count !== 1)
      return toVerdict(other === undefined ? 'pass' : 'fail', answers, { runs: other ?? 1 })
    }),
  },
  {
    id: 'effect-once-other-bytes',
    sends: 'An event, and then the same id with another timestamp, and therefore other bytes and another signature.',
    expects: 'The probe reports that its work was done once.',
    why: 'Only the id identifies an event. The service does not document that a retry has the same bytes as the first attempt.',
    fix: 'Remember the id of the event, not a hash of the body, the signature or several fields.',
    run: oncePlain(({ make, send }, event) =>
      send(make.delivery({ ...event, timestamp: new Date(Date.now() + 1_000).toISOString() })),
    ),
  },
  {
    id: 'effect-once-after-others',
    sends: `An event, ${OTHERS} others, ${TURN} of them concurrently, and then the first one again.`,
    expects: 'The probe reports that its work was done once.',
    why: 'The last attempt comes more than two and a half hours after the first, with any number of events between them.',
    fix: 'Keep ids by time, not by number: for at least three hours, or better for seven days.',
    alone: true,
    run: oncePlain(async (scene, event) => {
      for (let left = OTHERS; left > 0; left -= TURN) {
        const others = makeEach(TURN, () => scene.make.delivery(scene.make.event()))
        await sendAll(scene, others)
      }
      return scene.send(scene.make.delivery(event))
    }),
  },
  {
    id: 'effect-none-refused',
    sends: 'An event with a wrong signature.',
    expects: 'The probe reports that its work was not done.',
    why: 'A refusal after the work has been done protects nothing.',
    fix: 'Check the signature before anything else.',
    run: withPlain(async (scene) => {
      const { make, send } = scene
      const event = make.event()
      const answer = await send(make.delivery(event, FORGED))
      const [runs = 0] = await readSettled(scene, event.id)
      if (runs === 0 && isUnseen(answer)) return notAccepted(answer)
      return toVerdict(runs === 0 ? 'pass' : 'fail', answer, { runs })
    }),
  },
  {
    id: 'effect-after-forgery',
    sends: 'An event with a wrong signature, and then the same event with the right one.',
    expects: '2xx to the second, and the probe reports that its work was done.',
    why: 'A receiver that stores an id before it checks the signature takes the genuine event for a duplicate: anyone who guesses an id can make its event get lost.',
    fix: 'Check the signature before storing anything about the event.',
    run: withPlain(async (scene) => {
      const event = scene.make.event()
      const forged = await scene.send(scene.make.delivery(event, FORGED))
      const { answer, runs } = await sendEvent(scene, event)
      return isPutOff(answer) ? notAccepted(answer) : toVerdict(runs > 0 ? 'pass' : 'fail', [forged, answer], { runs })
    }),
  },
  {
    id: 'effect-each-event',
    sends:
      'Two contact.updated events of the same record, each with its own id; the second is later, and changes the name.',
    expects: 'The probe reports that the work of both was done.',
    why: 'A record changes more than once. A receiver that remembers the id of the record takes the second change for a duplicate, and loses it.',
    fix: 'Remember the id of the event, not the _id of its record.',
    run: withPlain(async (scene) => {
      const { make } = scene
      const record = make.contact()
      const update = (lastName: string, ms: number) =>
        make.event({ type: 'contact.updated', timestamp: agoOf(ms), data: { record: { ...record, lastName } } })
      const [first, second] = [update('First', 2_000), update('Second', 1_000)]
      const earlier = await sendEvent(scene, first)
      if (!isSuccess(earlier.answer)) return notAccepted(earlier.answer)
      if (earlier.runs === 0) return toVerdict('skipped', earlier.answer, { cause: 'not_counted' })
      const { answer, runs } = await sendEvent(scene, second)
      return toVerdict(runs > 0 ? 'pass' : 'fail', [earlier.answer, answer], { runs })
    }),
  },
  {
    id: 'effect-similar-ids',
    level: 'warn',
    sends:
      'Pairs of events with nearly equal ids: they differ in the case of one letter, or in the last of 200 characters.',
    expects: 'The probe reports that the work of each was done; otherwise a warning.',
    why: 'The form of ids is not documented. Many databases ignore case when they compare text (MySQL, SQL Server), or truncate it: the receiver then takes one event for a duplicate of another, answers 2xx, and loses it.',
    fix: 'Compare ids byte by byte (with a binary collation, such as utf8mb4_bin) in a column that is long enough, or store a hash of the id.',
    run: withPlain(async (scene) => {
      const { id: start } = scene.make.event()
      const long = `${start}_`.padEnd(199, 'x')
      const pairs = [
        ['in the case of a letter', `${start}_a`, `${start}_A`],
        ['in the last of 200 characters', `${long}a`, `${long}b`],
      ] as const
      let verdict = toVerdict('skipped', [], { cause: 'not_counted' })
      for (const [what, first, second] of pairs) {
        if ((await sendEvent(scene, { ...scene.make.event(), id: first })).runs === 0) continue // another check reports it
        const { answer, runs } = await sendEvent(scene, { ...scene.make.event(), id: second })
        if (runs === 0) return toVerdict('fail', answer, { runs, note: `ids differ ${what}` })
        verdict = toVerdict('pass', [], { note: 'each was done' })
      }
      return verdict
    }),
  },
]

import { splitType } from '../../../src/protocol/events.ts'
import type { Answer, Case, Scene, TestDelivery, TestEvent, Verdict } from '../case.ts'
import { FORGED, PLAIN_TYPE } from '../maker.ts'
import { capAt, isPutOff, isSuccess, isUnjudged, notAccepted, toVerdict } from '../verdict.ts'
import {
  forEachType,
  judgeAll,
  listTypes,
  narrow,
  type ProbedScene,
  readAll,
  readRuns,
  readSettled,
  sendEvent,
  withCounted,
  withProbe,
} from '../work.ts'
import { listPairs, makePair, type Pair } from './pairs.ts'
import { COPIES, holdBack } from './send-at-once.ts'
import { fromNow, LAST_ATTEMPT_MS } from './time.ts'

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
    if ((await readRuns(scene, event.id)) === 0) return toVerdict('fail', [first, second], { runs: 0 })
    const [runs = 0] = await readSettled(scene, event.id)
    if (runs === 1 && isUnjudged(second)) return toVerdict('skipped', second, { cause: 'not_judged' })
    return toVerdict(runs === 1 && isSuccess(second) ? 'pass' : 'fail', [first, second], { runs })
  }

const sendAgain = once(({ make, send }, event) => send(make.delivery(event)))

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

/** Returns true if the receiver has not processed the delivery: nothing listens, or it put the delivery off. */
const isUnseen = (answer: Answer) => answer.isUnreachable || isPutOff(answer)

/** Wraps a check that judges each model of which the work of some events is counted. */
const forEachModel = (judge: (scene: ProbedScene, model: string) => Promise<Verdict>) =>
  withProbe(async (scene) => {
    const types = await scene.counting().types
    const models = new Set(types.flatMap((type) => splitType(type)?.model ?? []))
    return judgeAll([...models], (model) => judge(scene, model))
  })

/** Returns the part of a type that its model, or its process, shares. */
const familyOf = (type: string) => type.slice(0, type.lastIndexOf('.'))

const NEW_UPDATES = { name: '', isKnown: false, actions: ['updated', 'updated'], isReversed: false } as const

/** Lists the pairs whose later event leaves a receiver no choice: it does the work of such events, one by one. */
async function findDuePairs(scene: ProbedScene, model: string): Promise<readonly Pair[]> {
  const types = await scene.counting().types
  const alone = scene.make.event({ type: `${model}.updated` })
  await scene.send(scene.make.delivery(alone))
  // A receiver may have nothing to do for a change of a record that it does not know.
  const [runs = 0] = await readSettled(scene, alone.id)
  return listPairs(model).filter(({ isKnown, actions: [, later] }) =>
    isKnown ? types.includes(`${model}.${later}`) : runs > 0,
  )
}

/** As long as only an undocumented form of ids would be. */
const LONG = 'differ after 180 characters'
const TAIL = 'x'.repeat(40)
/** Ends of two ids of one start, by what differs between them. */
const SIMILAR: Readonly<Record<string, readonly [first: string, second: string]>> = {
  'differ in the case of a letter': ['_a', '_A'],
  'have the same digits and other letters': ['_a1b2', '_c1d2'],
  'differ in the last of 20 digits': ['_90071992547409910001', '_90071992547409910002'],
  'have the same 40 last characters': [`_a_${TAIL}`, `_b_${TAIL}`],
  'differ after 64 characters': [`_xxxxxx${TAIL}a`, `_xxxxxx${TAIL}b`],
  [LONG]: [`_${TAIL.repeat(4)}_a`, `_${TAIL.repeat(4)}_b`],
}

export const effect: readonly Case[] = [
  {
    id: 'effect-types',
    sends:
      'Two events of each documented type and of three models, those of changes after the record was created. The other checks of this group judge the types whose work the probe counts.',
    expects:
      'The probe reports that the work of each, or at least of one, was done; the report lists the others, with a warning if work of the same model is counted, such as that of contact.created and not of contact.updated. If the work of one event of a type is counted, that of the other is as well.',
    why: 'Code that fails at a type, or at some of its events, and answers 2xx all the same, loses events. Only the owner knows which types have work.',
    fix: 'If a handler exists for a type in the list, find out why the probe does not count its work. If the receiver has work for none of them, leave this group out (--skip effect), or name its type (--type).',
    run: withProbe(async (scene) => {
      const counted = await scene.counting().types
      scene.endTurn()
      const losses = await scene.counting().losses
      const lost = losses.map(({ type, lost, total }) => `${type}: ${lost} of ${total} not done`)
      if (lost.length > 0) return toVerdict('fail', [], { cause: 'not_done', note: lost.join(', ') })
      const { plainType } = scene.make
      if (plainType !== PLAIN_TYPE && !counted.includes(plainType))
        return toVerdict('fail', [], { cause: 'not_counted', note: plainType })
      const others = listTypes(scene.make).filter((type) => !counted.includes(type))
      if (others.length === 0) return toVerdict('pass', [], { note: 'the work of each type is counted' })
      // Work for the creation of a record, but none for its changes, is mostly a mistake.
      const dropped = others.filter((type) => counted.some((each) => familyOf(each) === familyOf(type)))
      if (dropped.length > 0) return toVerdict('warn', [], { note: `not counted: ${dropped.join(', ')}` })
      return toVerdict(counted.length > 0 ? 'info' : 'fail', [], { note: `not counted: ${others.join(', ')}` })
    }),
  },
  {
    id: 'effect-once',
    sends: 'The same event twice, one after the other, of each type whose work the probe counts.',
    expects: '2xx both times, and the probe reports that its work was done once.',
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
    id: 'effect-once-late',
    sends: `Events whose timestamps are ${Object.keys(AGES).join(', ')} old, each twice.`,
    expects: `2xx both times, and the probe reports that the work of each was done once; a warning for ${BY_HAND}.`,
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
    sends: 'An event, and then the same id with another timestamp, and therefore other bytes and another signature.',
    expects: '2xx both times, and the probe reports that its work was done once.',
    why: 'Only the id identifies an event. The service does not document that a retry has the same bytes as the first attempt.',
    fix: 'Remember the id of the event, not a hash of the body, the signature or several fields.',
    run: onceCounted(({ make, send }, event) =>
      send(make.delivery({ ...event, timestamp: new Date(Date.now() + 1_000).toISOString() })),
    ),
  },
  {
    id: 'effect-once-after-others',
    sends: `An event, ${OTHERS} others, ${TURN} of them concurrently, and then the first one again.`,
    expects: '2xx to the first one both times, and the probe reports that its work was done once.',
    why: 'The last attempt comes more than two and a half hours after the first, with any number of events between them.',
    fix: 'Keep ids by time, not by number: for at least three hours, or better for seven days.',
    alone: true,
    run: onceCounted(async (scene, event) => {
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
    run: withCounted(async (scene, makeEvent) => {
      const { make, send } = scene
      const event = makeEvent()
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
    run: withCounted(async (scene, makeEvent) => {
      const event = makeEvent()
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
    run: forEachModel(async (scene, model) => {
      const { make, send } = scene
      const { earlier, later } = await makePair(scene, { ...NEW_UPDATES, model })
      const first = await send(make.delivery(earlier))
      if (!isSuccess(first)) return notAccepted(first)
      const [done = 0] = await readSettled(scene, earlier.id)
      if (done === 0) return toVerdict('skipped', first, { cause: 'not_counted' })
      const { answer, runs } = await sendEvent(scene, later)
      return toVerdict(runs > 0 ? 'pass' : 'fail', [first, answer], { runs })
    }),
  },
  {
    id: 'effect-one-record-at-once',
    sends:
      'Two events of one record concurrently, as in one-record-at-once, of each model whose work the probe counts.',
    expects:
      'The probe reports that the work of the later event was done if it got a 2xx: an earlier state of the record may be left out, but not the last one.',
    why: 'A receiver that searches for the record, and then creates it, finds none twice. The second creation fails at a unique key; if that counts as "known already", the newer state of the record is lost.',
    fix: 'Insert or update in one statement (an upsert), or lock the record, and compare the timestamps.',
    alone: true,
    run: forEachModel(async (scene, model) => {
      const pairs = await findDuePairs(scene, model)
      if (pairs.length === 0) return toVerdict('skipped', [], { cause: 'not_counted' })
      const sent = await Promise.all(pairs.map((pair) => makePair(scene, pair)))
      const answers = await sendAll(
        scene,
        sent.flatMap(({ deliveries }) => deliveries),
      )
      if (!answers.some(isSuccess)) return notAccepted(answers)
      const accepted = answers.flatMap((answer) => (isSuccess(answer) ? [answer.event?.id] : []))
      const due = sent.flatMap(({ later }) => (accepted.includes(later.id) ? [later.id] : []))
      const lost = (await readAll(scene, due)).filter((runs) => runs === 0).length
      if (lost === 0) return toVerdict('pass', answers)
      return toVerdict('fail', answers, { cause: 'not_done', note: `not done for ${lost} of ${due.length}` })
    }),
  },
  {
    id: 'effect-similar-ids',
    sends: `Pairs of events whose ids ${Object.keys(SIMILAR).join(', ')}.`,
    expects: `The probe reports that the work of each was done; a warning for long ids.`,
    why: 'The form of ids is not documented. Many databases ignore case when they compare text (MySQL, SQL Server), or truncate it, and code may take only the digits of it: the receiver then takes one event for a duplicate of another, answers 2xx, and loses it.',
    fix: 'Compare ids byte by byte (with a binary collation, such as utf8mb4_bin) in a column that is long enough, or store a hash of the id.',
    run: withCounted(async (wide, makeEvent) => {
      const scene = narrow(wide)
      const { id: start } = makeEvent()
      return judgeAll(Object.keys(SIMILAR), async (name) => {
        const [first = '', second = ''] = SIMILAR[name] ?? []
        // Another check reports it.
        if ((await sendEvent(scene, { ...makeEvent(), id: start + first })).runs === 0)
          return toVerdict('skipped', [], { cause: 'not_counted' })
        const { answer, runs } = await sendEvent(scene, { ...makeEvent(), id: start + second })
        return toVerdict(runs > 0 ? 'pass' : name === LONG ? 'warn' : 'fail', answer, { runs })
      })
    }),
  },
]

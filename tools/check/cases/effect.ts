import { splitType } from '../../../src/protocol/events.ts'
import type { Answer, Case, TestEvent, Verdict } from '../case.ts'
import { FORGED, PLAIN_TYPE } from '../maker.ts'
import { isPutOff, isSuccess, notAccepted, toVerdict } from '../verdict.ts'
import {
  isWorking,
  judgeAll,
  listTypes,
  narrow,
  type ProbedScene,
  prepare,
  readAll,
  readSettled,
  recordOf,
  SETTLE_MS,
  sendEvent,
  withCounted,
  withProbe,
} from '../work.ts'
import { KINDS_OF_SEQUENCES, listPairs, makePair, makeSequence, type Pair, UNLIKELY_SEQUENCES } from './pairs.ts'
import { IDS_OF_PROPERTIES } from './records.ts'

/** Returns true if the receiver has not processed the delivery: nothing listens, or it put the delivery off. */
const isUnseen = (answer: Answer) => answer.isUnreachable || isPutOff(answer)

/** Wraps a check that judges each model of which the work of some events is counted. */
const forEachModel = (judge: (scene: ProbedScene, model: string, isFirst: boolean) => Promise<Verdict>) =>
  withProbe(async (scene) => {
    const types = await scene.counting().types
    const models = [...new Set(types.flatMap((type) => splitType(type)?.model ?? []))]
    return judgeAll(models, (model) => judge(scene, model, model === models[0]))
  })

/** Id that every run sends. */
const FIXED = 'evt_chk_each_run'

/** Returns the part of a type that its model, or its process, shares. */
const familyOf = (type: string) => type.slice(0, type.lastIndexOf('.'))

/** Returns true if the work of a change is done though nothing is known of its record: a receiver may have nothing to do then. */
async function worksForUnknown(scene: ProbedScene, model: string): Promise<boolean> {
  const alone = scene.make.event({ type: `${model}.updated` })
  await scene.send(scene.make.delivery(alone))
  const [runs = 0] = await readSettled(scene, alone.id)
  return runs > 0
}

/** Lists the pairs whose later event leaves a receiver no choice: it does the work of such events, one by one. */
async function findDuePairs(scene: ProbedScene, model: string): Promise<readonly Pair[]> {
  const types = await scene.counting().types
  const areNewDue = await worksForUnknown(scene, model)
  return listPairs(model).filter(({ isKnown, actions: [, later] }) =>
    isKnown ? types.includes(`${model}.${later}`) : areNewDue,
  )
}

/** As long as only an undocumented form of ids would be. */
const LONG = 'differ after 180 characters'
const TAIL = 'x'.repeat(40)
const BLANK = 'differ in a space at the end'
const UNICODE = 'write a letter in two forms of Unicode'
const PATH = 'have the same end after "/../"'
/** Differences that only unlikely forms of ids have. */
const UNLIKELY = [LONG, BLANK, UNICODE, PATH]
/** Ends of two ids of one start, by what differs between them. */
const SIMILAR: Readonly<Record<string, readonly [first: string, second: string]>> = {
  'differ in the case of a letter': ['_a', '_A'],
  'have a hyphen and an underscore at the same place': ['_a-b', '_a_b'],
  'have a hyphen at different places': ['_a-bc', '_ab-c'],
  'have an underscore at different places': ['_a_bc', '_ab_c'],
  'have the same digits and other letters': ['_a1b2', '_c1d2'],
  'differ in the last of 20 digits': ['_90071992547409910001', '_90071992547409910002'],
  'have the same 40 last characters': [`_a_${TAIL}`, `_b_${TAIL}`],
  'differ after 36 characters': [`_${TAIL.slice(-16)}a`, `_${TAIL.slice(-16)}b`],
  'differ after 64 characters': [`_xxxxxx${TAIL}a`, `_xxxxxx${TAIL}b`],
  'have the same hash of 32 bits, by the factor 31': ['_31Aa', '_31BB'],
  'have the same hash of 32 bits, by the factor 33': ['_33Ac', '_33BB'],
  'have the same CRC-32': ['_xs4ibwwl', '_adwoqc8j'],
  [BLANK]: ['_e', '_e '],
  [UNICODE]: ['_\u00e9', '_e\u0301'],
  [PATH]: ['_a/../x', '_b/../x'],
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
    sends: `Several contact.updated events of one record, one after the other, each with its own id: the second changes the name, and a third changes it back. Their timestamps lie within a second: ${KINDS_OF_SEQUENCES.join(', ')}; the first of these of each model.`,
    expects: `The probe reports that the work of each was done; a warning for those ${UNLIKELY_SEQUENCES.join(', and ')}.`,
    why: 'A record changes more than once, and within a second. A receiver that remembers the id of the record, with its data or the second of the event, takes a change for a duplicate. One that skips what is not newer loses the last change if it compares texts ("00Z" is more than "00.5Z"), keeps whole seconds, or skips equal times.',
    fix: 'Remember the id of the event, not the _id of its record, nor what it contains. To skip older events, parse the timestamps, keep all of their digits, and let an event with an equal one pass.',
    run: forEachModel(async (scene, model, isFirst) => {
      const isKnown = !(await worksForUnknown(scene, model))
      if (isKnown && !(await scene.counting().types).includes(`${model}.updated`))
        return toVerdict('skipped', [], { cause: 'not_counted' })
      // A guard is mostly shared by all models.
      return judgeAll(KINDS_OF_SEQUENCES.slice(0, isFirst ? undefined : 1), async (kind) => {
        const { creation, events } = makeSequence(scene.make, model, kind)
        if (isKnown) await sendEvent(scene, creation)
        const answers: Answer[] = []
        for (const event of events) {
          const { answer, runs } = await sendEvent(scene, event)
          answers.push(answer)
          if (runs > 0) continue
          // Other checks report the loss of a first event.
          if (answers.length === 1)
            return isSuccess(answer) ? toVerdict('skipped', answer, { cause: 'not_counted' }) : notAccepted(answer)
          return toVerdict(UNLIKELY_SEQUENCES.includes(kind) ? 'warn' : 'fail', answers, { runs })
        }
        return toVerdict('pass', answers)
      })
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
      if (!(await isWorking(scene))) return toVerdict('skipped', [], { cause: 'behind' })
      const sent = await Promise.all(pairs.map((pair) => makePair(scene, pair)))
      const answers = await Promise.all(sent.flatMap(({ deliveries }) => deliveries).map(scene.send))
      if (!answers.some(isSuccess)) return notAccepted(answers)
      const accepted = answers.flatMap((answer) => (isSuccess(answer) ? [answer.event?.id] : []))
      const due = sent.flatMap(({ later }) => (accepted.includes(later.id) ? [later.id] : []))
      const lost = (await readAll(scene, due)).filter((runs) => runs === 0).length
      if (lost === 0) return toVerdict('pass', answers)
      return toVerdict('fail', answers, { cause: 'not_done', note: `not done for ${lost} of ${due.length}` })
    }),
  },
  {
    id: 'effect-same-time',
    sends: 'Two events of one type with the same timestamp, one after the other.',
    expects: 'The probe reports that the work of each was done.',
    why: 'An import changes many records in the same millisecond. A receiver that recognizes events by type and timestamp takes the second for a duplicate of the first, answers 2xx, and loses it.',
    fix: 'Remember the id of the event, and nothing else of it.',
    run: withCounted(async (scene, makeEvent) => {
      const { timestamp, ...event } = makeEvent()
      const first = await sendEvent(scene, { timestamp, ...event })
      if (!isSuccess(first.answer)) return notAccepted(first.answer)
      // Another check reports it.
      if (first.runs === 0) return toVerdict('skipped', first.answer, { cause: 'not_counted' })
      const { answer, runs } = await sendEvent(scene, { ...makeEvent(), timestamp })
      return toVerdict(runs > 0 ? 'pass' : 'fail', [first.answer, answer], { runs })
    }),
  },
  {
    id: 'effect-updated-before-created',
    level: 'warn',
    sends:
      'A contact.updated event of a record that was never created, and then one of a record that was; of each model if the probe counts the work of its updates.',
    expects: 'The probe reports that the work of the first was done as well; otherwise a warning.',
    why: 'The service guarantees no order, and records may be older than the webhook. A receiver that drops the update of a record that it does not know keeps the older state of the creation that comes later, or never learns of the record.',
    fix: 'Insert the record or update it, whichever applies (an upsert). If the receiver is to ignore records that it does not know, this warning asks for nothing.',
    run: forEachModel(async (scene, model) => {
      const { make, send } = scene
      const type = `${model}.updated`
      if (!(await scene.counting().types).includes(type)) return toVerdict('skipped', [], { cause: 'not_counted' })
      const alone = make.event({ type })
      const answer = await send(make.delivery(alone))
      if (!isSuccess(answer)) return notAccepted(answer)
      // The work of a later update shows that a queue has passed the first one.
      const { event: known } = await prepare(scene, type)
      await scene.wait(SETTLE_MS)
      if ((await sendEvent(scene, known)).runs === 0) return toVerdict('skipped', answer, { cause: 'not_counted' })
      const [runs = 0] = await readSettled(scene, alone.id)
      return toVerdict(runs > 0 ? 'pass' : 'fail', answer, { runs })
    }),
  },
  {
    id: 'effect-property-names',
    sends: `Events with ids, and of records with ids, that are called like properties of every JavaScript object: ${IDS_OF_PROPERTIES.join(', ')}.`,
    expects: 'The probe reports that the work of each was done.',
    why: 'The form of ids is not documented. An object that is used as a table of ids finds something under these names: the receiver takes the event for a duplicate, answers 2xx, and loses it.',
    fix: 'Use a Map or a Set for what comes from outside, or Object.create(null).',
    run: withCounted((wide, makeEvent) => {
      const scene = narrow(wide)
      const { make } = scene
      const kinds: Readonly<Record<string, (name: string) => TestEvent>> = {
        id: (id) => ({ ...makeEvent(), id }),
        record: (_id) => ({ ...makeEvent(), data: { record: make.contact({ _id }) } }),
      }
      const isOfRecord = recordOf(makeEvent()) !== undefined
      return judgeAll(isOfRecord ? Object.keys(kinds) : ['id'], async (kind) => {
        const makeOf = kinds[kind] ?? makeEvent
        // A receiver may remember such names from an earlier run.
        if ((await sendEvent(scene, makeOf(FIXED))).runs === 0)
          return toVerdict('skipped', [], { cause: 'not_counted' })
        return judgeAll(
          IDS_OF_PROPERTIES.map((name) => `the ${kind} ${name}`),
          async (name) => {
            const { answer, runs } = await sendEvent(scene, makeOf(name.slice(name.lastIndexOf(' ') + 1)))
            return isSuccess(answer) ? toVerdict(runs > 0 ? 'pass' : 'fail', answer, { runs }) : notAccepted(answer)
          },
        )
      })
    }),
  },
  {
    id: 'effect-similar-ids',
    sends: `Pairs of events whose ids ${Object.keys(SIMILAR).join(', ')}.`,
    expects: `The probe reports that the work of each was done; a warning for long ids, spaces, other letters than ASCII, and paths.`,
    why: 'The form of ids is not documented. Many databases ignore case and spaces at the end when they compare text (MySQL, SQL Server), or truncate it, and code may take only the digits of it or a short hash, remove or replace punctuation, or use it as the name of a file: the receiver then takes one event for a duplicate of another, answers 2xx, and loses it.',
    fix: 'Compare ids byte by byte (with a binary collation, such as utf8mb4_bin) in a column that is long enough, or store a hash of the id that has at least 128 bits, such as SHA-256.',
    run: withCounted(async (wide, makeEvent) => {
      const scene = narrow(wide)
      const { id: start } = makeEvent()
      return judgeAll(Object.keys(SIMILAR), async (name) => {
        const [first = '', second = ''] = SIMILAR[name] ?? []
        // Another check reports it.
        if ((await sendEvent(scene, { ...makeEvent(), id: start + first })).runs === 0)
          return toVerdict('skipped', [], { cause: 'not_counted' })
        const { answer, runs } = await sendEvent(scene, { ...makeEvent(), id: start + second })
        return toVerdict(runs > 0 ? 'pass' : UNLIKELY.includes(name) ? 'warn' : 'fail', answer, { runs })
      })
    }),
  },
]

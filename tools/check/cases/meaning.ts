import { SERVICE_EVENT_TYPES } from '../../../src/protocol/events.ts'
import type { Answer, Case, Maker, Scene, Verdict } from '../case.ts'
import {
  isPutOff,
  isSuccess,
  MUST_BE_ACCEPTED,
  mustBeAccepted,
  mustNotCrash,
  notAccepted,
  SHOULD_BE_ACCEPTED,
  toVerdict,
} from '../verdict.ts'
import { judgeAll, judgeEach, listTypes, narrow, prepare, typesOf, WIDTH } from '../work.ts'
import { listPairs, makePair } from './pairs.ts'
import { records } from './records.ts'
import { COPIES, holdBack, sendAtOnce } from './send-at-once.ts'

const BUSY = [409, 425, 429, 503]

const MODELS = ['opportunity', 'financeInvoice']

/** Makes an event of each type, without the events that a receiver may expect before. */
const makeEach = ({ make }: Scene, types: readonly string[]) =>
  types.map((type) => [type, make.delivery(make.event({ type }))] as const)

/** Lists all kinds of events: those that the service names, and two that no receiver knows. */
const listAll = (make: Maker) => listTypes(make, ['checkThing.created', 'check.unheard.of'])

/** Returns the type, if an event of it is accepted by itself: other checks say why one is not. */
async function findAccepted(scene: Scene, type: string): Promise<readonly string[]> {
  const { event } = await prepare(scene, type)
  return isSuccess(await scene.send(scene.make.delivery(event))) ? [type] : []
}

/** Judges deliveries that were sent concurrently: some may be put off while another is accepted. */
function judgeTogether(answers: readonly Answer[]): Verdict {
  const others = answers.filter((answer) => !isSuccess(answer))
  if (others.length === 0) return toVerdict('pass', answers)
  if (answers.every(isPutOff)) return notAccepted(answers)
  const isOnlyBusy = others.length < answers.length && others.every(({ status }) => BUSY.includes(status ?? 0))
  return toVerdict(isOnlyBusy ? 'warn' : 'fail', answers)
}

const OPEN_FIX =
  'Answer 2xx to signed events that you do not use: the service retries a refused one four times, and then marks it as failed.'

export const meaning: readonly Case[] = [
  {
    id: 'unknown-type',
    ...MUST_BE_ACCEPTED,
    sends: 'An event of a type that no receiver knows, "check.unheard.of".',
    why: 'The service may add types, and a subscription may cover more types than the code handles.',
    fix: OPEN_FIX,
    deliver: (make) => make.delivery(make.event({ type: 'check.unheard.of', data: {} })),
  },
  {
    id: 'unknown-model',
    expects: '2xx to each.',
    sends: 'Events of a model that no receiver knows, "checkThing": created, updated and deleted.',
    why: 'Every registered model has events, including models that were registered after the code was written.',
    fix: OPEN_FIX,
    run: (scene) => judgeEach(scene, makeEach(scene, typesOf('checkThing')), mustBeAccepted),
  },
  {
    id: 'other-models',
    sends:
      'Events of other models than contact, opportunity and financeInvoice: created, updated, and deleted with only the _id.',
    expects: '2xx to each.',
    why: 'A receiver often has code for each model, and the deletions of a model come last and seldom. Code that reads another field of the record fails at them.',
    fix: 'Read only the _id of a deleted record, whatever its model.',
    run: (scene) => judgeEach(scene, makeEach(scene, MODELS.flatMap(typesOf)), mustBeAccepted),
  },
  ...SERVICE_EVENT_TYPES.map(
    (type): Case => ({
      id: type.replaceAll('.', '-'),
      ...MUST_BE_ACCEPTED,
      sends: `A ${type} event with no record in its data.`,
      why: 'The data of these events is not documented; only model events always have a record.',
      fix: 'Do not read data.record of events that are not about a record.',
      deliver: (make) => make.delivery(make.event({ type, data: { note: 'sent by postern check' } })),
    }),
  ),
  {
    id: 'extra-fields',
    ...MUST_BE_ACCEPTED,
    sends: 'A contact.created event with undocumented fields in the envelope and in the record.',
    why: 'The documentation names only some fields of a record, and services add more.',
    fix: 'Let schemas keep or drop unknown fields instead of refusing them.',
    deliver: (make) => {
      const record = make.contact({ tags: ['a'], owner: null })
      return make.delivery(make.event({ version: 2, data: { record, previous: {} } }))
    },
  },
  ...records,
  {
    id: 'data-missing',
    ...SHOULD_BE_ACCEPTED,
    sends: 'An export.completed event without data.',
    why: 'The data of this event is not documented; there may be none.',
    fix: 'Treat missing data as an empty object.',
    deliver: (make) => make.delivery(make.event({ type: 'export.completed', data: undefined })),
  },
  {
    id: 'id-long',
    ...SHOULD_BE_ACCEPTED,
    sends: 'An event whose id has 255 characters.',
    why: 'The id is text, and its length is not documented. A column that is too short, or the name of a file with an ending, refuses the event on every attempt.',
    fix: 'Make the id column at least 255 characters long, or store a hash of the id.',
    deliver: (make) => {
      const event = make.event()
      return make.delivery({ ...event, id: `${event.id}_`.padEnd(255, 'x') })
    },
  },
  {
    id: 'id-form',
    level: 'warn',
    sends: 'Events whose ids have marks in them: "../" at the start, and those of Base64, "+/=", at the end.',
    expects: '2xx to each; otherwise a warning.',
    why: 'The id is text, and its form is not documented. In the name of a file, or in a path, a slash leads elsewhere.',
    fix: 'Use a hash of the id for names of files, and encode the id in URLs.',
    run: (scene) => {
      const { make } = scene
      const toDelivery = (start: string, end: string) => {
        const event = make.event()
        return make.delivery({ ...event, id: start + event.id + end })
      }
      const deliveries = [
        ['"../"', toDelivery('../', '')],
        ['"+/="', toDelivery('', '+/=')],
      ] as const
      return judgeEach(scene, deliveries, mustBeAccepted)
    },
  },
  {
    id: 'unknown-account',
    level: 'warn',
    sends: 'An event with an accountKey that the receiver cannot know.',
    expects: '2xx, or a 4xx from a receiver that knows its accounts; otherwise a warning.',
    why: 'The secret of one account must not authenticate another, but a missing secret must not cause an error.',
    fix: 'Answer 401 if the account has no secret.',
    deliver: (make) => make.delivery(make.event({ accountKey: 'check-unheard-of' })),
    judge: mustNotCrash,
  },
  {
    id: 'duplicate',
    sends:
      'Events of each type twice, one after the other: of all types that the service names, of three models, and of a type and a model that no receiver knows.',
    expects: '2xx both times.',
    why: 'The service retries a delivery whose answer got lost. If every retry is refused, it stays failed for ever although the work is done. Types often have separate code, and only some of it expects duplicates.',
    fix: 'Answer 2xx to an event that has been handled, and do not do it again, whatever its type.',
    run: (scene) => {
      const { make, send } = narrow(scene)
      return judgeAll(listAll(make), async (type) => {
        const delivery = make.delivery((await prepare({ make, send }, type)).event)
        const first = await send(delivery)
        const second = await send(delivery)
        // If the first is refused too, other checks say why.
        const status = !isSuccess(first) ? 'skipped' : isSuccess(second) ? 'pass' : 'fail'
        return toVerdict(status, [first, second])
      })
    },
  },
  {
    id: 'duplicates-at-once',
    sends: `The same event ${COPIES} times concurrently, of each type, ${WIDTH} types at a time.`,
    expects: '2xx to all; a warning if some get 409, 425, 429 or 503 while another gets 2xx.',
    why: 'A duplicate can arrive while the first delivery is still being handled. A refusal costs one of five attempts.',
    fix: 'Let the duplicate wait for the result of the first delivery. If it fails because a lock is not free in time, wait longer for it, or hold it no longer than to claim the id.',
    alone: true,
    run: (scene) => {
      const judge = async (type: string) => {
        const accepted = await findAccepted(scene, type)
        if (accepted.length === 0) return toVerdict('skipped', [], { cause: 'not_accepted' })
        const delivery = scene.make.delivery((await prepare(scene, type)).event, { toParts: holdBack })
        return judgeTogether(await sendAtOnce(scene, Array(COPIES).fill(delivery)))
      }
      return judgeAll(listAll(scene.make), judge, WIDTH)
    },
  },
  {
    id: 'one-record-at-once',
    sends:
      'Two events of one record concurrently, for records that exist and for new ones: its creation and an update, two updates, an update and its deletion; for the models contact and opportunity.',
    expects: '2xx to both; a warning if one gets 409, 425, 429 or 503 while the other gets 2xx.',
    why: 'The service guarantees no order and sends events side by side. A receiver that searches for a record and then creates it creates it twice, or fails at a unique key.',
    fix: 'Insert or update in one statement (an upsert), or lock the record. Try again if the database reports a conflict, or that a lock was not free in time.',
    alone: true,
    run: async (scene) => {
      const models = [...new Set([scene.make.model, 'opportunity'])]
      const accepted = (await Promise.all(models.flatMap(typesOf).map((type) => findAccepted(scene, type)))).flat()
      const pairs = models
        .flatMap(listPairs)
        .filter(({ model, actions }) => actions.every((action) => accepted.includes(`${model}.${action}`)))
      const judge = async (name: string) => {
        const pair = pairs.find((each) => each.name === name)
        if (pair === undefined) return toVerdict('skipped', [])
        const { deliveries } = await makePair(scene, pair)
        return judgeTogether(await sendAtOnce(scene, deliveries))
      }
      if (pairs.length === 0) return toVerdict('skipped', [], { cause: 'not_accepted' })
      return judgeAll(
        pairs.map(({ name }) => name),
        judge,
        2,
      )
    },
  },
]

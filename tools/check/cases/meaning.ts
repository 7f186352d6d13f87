import { SERVICE_EVENT_TYPES } from '../../../src/protocol/events.ts'
import type { Case } from '../case.ts'
import {
  isPutOff,
  isSuccess,
  MUST_BE_ACCEPTED,
  mustNotCrash,
  notAccepted,
  SHOULD_BE_ACCEPTED,
  toVerdict,
} from '../verdict.ts'
import { records } from './records.ts'
import { COPIES, sendAtOnce } from './send-at-once.ts'

const BUSY = [409, 425, 429, 503]

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
    ...MUST_BE_ACCEPTED,
    sends: 'A created event of a model that no receiver knows, "checkThing".',
    why: 'Every registered model has events, including models that were registered after the code was written.',
    fix: OPEN_FIX,
    deliver: (make) =>
      make.delivery(make.event({ type: 'checkThing.created', data: { record: { _id: make.contact()._id } } })),
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
    sends: 'An event whose id has 200 characters.',
    why: 'The id is text, and its length is not documented. A column that is too short refuses the event on every attempt.',
    fix: 'Make the id column at least 255 characters long, or store a hash of the id.',
    deliver: (make) => {
      const event = make.event()
      return make.delivery({ ...event, id: `${event.id}_`.padEnd(200, 'x') })
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
    sends: 'The same event twice, one after the other.',
    expects: '2xx both times.',
    why: 'The service retries a delivery whose answer got lost. If every retry is refused, it stays failed for ever although the work is done.',
    fix: 'Answer 2xx to an event that has been handled, and do not do it again.',
    run: async ({ make, send }) => {
      const delivery = make.delivery(make.event())
      const first = await send(delivery)
      const second = await send(delivery)
      // If the first is refused too, other checks say why.
      const status = !isSuccess(first) ? 'skipped' : isSuccess(second) ? 'pass' : 'fail'
      return toVerdict(status, [first, second])
    },
  },
  {
    id: 'duplicates-at-once',
    sends: `The same event ${COPIES} times concurrently.`,
    expects: '2xx to all; a warning if some get 409, 425, 429 or 503 while another gets 2xx.',
    why: 'A duplicate can arrive while the first delivery is still being handled. A refusal costs one of five attempts.',
    fix: 'Let the duplicate wait for the result of the first delivery.',
    alone: true,
    run: async (scene) => {
      const delivery = scene.make.delivery(scene.make.event())
      const answers = await sendAtOnce(scene, Array(COPIES).fill(delivery))
      const others = answers.filter((answer) => !isSuccess(answer))
      if (others.length === 0) return toVerdict('pass', answers)
      if (answers.every(isPutOff)) return notAccepted(answers)
      const isOnlyBusy = others.length < COPIES && others.every(({ status }) => BUSY.includes(status ?? 0))
      return toVerdict(isOnlyBusy ? 'warn' : 'fail', answers)
    },
  },
]

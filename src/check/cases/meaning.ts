import { SERVICE_EVENT_TYPES } from '../../protocol/events.ts'
import type { Case, Maker, SingleCase, TestEvent } from '../case.ts'
import { countAnswers, describe, isSuccess, mustBeAccepted, mustNotCrash, shouldBeAccepted } from '../verdict.ts'
import { records } from './records.ts'
import { sendAtOnce } from './send-at-once.ts'

const COPIES = 8
const BUSY = [409, 425, 429, 503]

type EventCase = Pick<SingleCase, 'id' | 'sends' | 'why' | 'fix'> & { readonly event: (make: Maker) => TestEvent }

const OPEN_FIX =
  'Answer 2xx to what is signed but of no use to you: a refusal is repeated four times, and then marked as failed.'

const events: readonly EventCase[] = [
  {
    id: 'unknown-type',
    sends: 'An event of a type that no receiver knows, "check.unheard.of".',
    why: 'The service may bring in types, and a subscription may be wider than the code.',
    fix: OPEN_FIX,
    event: (make) => make.event({ type: 'check.unheard.of', data: {} }),
  },
  {
    id: 'unknown-model',
    sends: 'A created event of a model that no receiver knows, "checkThing".',
    why: 'Any registered model has events, also those that are made after the code.',
    fix: OPEN_FIX,
    event: (make) => make.event({ type: 'checkThing.created', data: { record: { _id: make.contact()._id } } }),
  },
  ...SERVICE_EVENT_TYPES.map(
    (type): EventCase => ({
      id: type.replaceAll('.', '-'),
      sends: `A ${type} event, whose data has no record.`,
      why: 'What these events carry is not documented; only model events are sure to have a record.',
      fix: 'Do not reach into data.record of events that are not about a record.',
      event: (make) => make.event({ type, data: { note: 'sent by postern check' } }),
    }),
  ),
  {
    id: 'extra-fields',
    sends: 'A contact.created event with fields that are not documented, in the envelope and in the record.',
    why: 'The documents name only some fields of a record, and services add more.',
    fix: 'Let schemas keep or drop what they do not know, and not refuse it.',
    event: (make) =>
      make.event({ version: 2, data: { record: make.contact({ tags: ['a'], owner: null }), previous: {} } }),
  },
]

/** Whether what is signed is taken for what it is. */
export const meaning: readonly Case[] = [
  ...events.map(
    ({ event, ...text }): Case => ({
      level: 'fail',
      expects: '2xx',
      deliver: (make) => make.delivery(event(make)),
      judge: mustBeAccepted,
      ...text,
    }),
  ),
  ...records,
  {
    id: 'data-missing',
    level: 'warn',
    sends: 'An export.completed event without data.',
    expects: '2xx; otherwise a warning.',
    why: 'What this event carries is not documented; it may be nothing.',
    fix: 'Take missing data for an empty object.',
    deliver: (make) => make.delivery(make.event({ type: 'export.completed', data: undefined })),
    judge: shouldBeAccepted,
  },
  {
    id: 'id-long',
    level: 'warn',
    sends: 'An event whose id has 200 characters.',
    expects: '2xx; otherwise a warning.',
    why: 'The id is text, and its length is not documented. A column that is too short for it refuses the event for ever.',
    fix: 'Give the column of ids 255 characters, or store a hash of the id.',
    deliver: (make) => {
      const event = make.event()
      return make.delivery({ ...event, id: `${event.id}_`.padEnd(200, 'x') })
    },
    judge: shouldBeAccepted,
  },
  {
    id: 'unknown-account',
    level: 'warn',
    sends: 'An event whose accountKey is one that the receiver can not know.',
    expects: '2xx, or a 4xx of a receiver that knows its accounts; otherwise a warning.',
    why: 'A secret of one account may not speak for another, but finding none must not end in an error.',
    fix: 'Answer 401 where the account has no secret.',
    deliver: (make) => make.delivery(make.event({ accountKey: 'check-unheard-of' })),
    judge: (answer) => ({ ...mustNotCrash(answer), ...(mustNotCrash(answer).status === 'fail' && { status: 'warn' }) }),
  },
  {
    id: 'duplicate',
    level: 'fail',
    sends: 'The same event twice, one after the other.',
    expects: '2xx both times.',
    why: 'A delivery whose answer got lost is repeated. A refusal of the copy leaves it failed for ever, though the work is done.',
    fix: 'Answer 2xx to an event that has been handled, and do not do it again.',
    run: async ({ make, send }) => {
      const delivery = make.delivery(make.event())
      const first = await send(delivery)
      const second = await send(delivery)
      // Where already the first is refused, other checks say why.
      const isDifferent = isSuccess(first) && !isSuccess(second)
      return {
        status: isDifferent ? 'fail' : isSuccess(first) ? 'pass' : 'skipped',
        reason: `first ${describe(first)}, then ${describe(second)}`,
      }
    },
  },
  {
    id: 'duplicates-at-once',
    level: 'fail',
    sends: `The same event ${COPIES} times at once.`,
    expects: '2xx to all; a warning where some get 409, 425, 429 or 503 while another gets 2xx.',
    why: 'A copy can come while the first is still being handled. A refusal costs one of five attempts.',
    fix: 'Let the copy wait for the result of the first one.',
    alone: true,
    run: async (scene) => {
      const delivery = scene.make.delivery(scene.make.event())
      const answers = await sendAtOnce(scene, Array(COPIES).fill(delivery))
      const others = answers.filter((answer) => !isSuccess(answer))
      const reason = countAnswers(answers)
      if (others.length === 0) return { status: 'pass', reason }
      const isOnlyBusy = others.length < COPIES && others.every(({ status }) => BUSY.includes(status ?? 0))
      return { status: isOnlyBusy ? 'warn' : 'fail', reason }
    },
  },
]

import type { Case, Maker, Scene, SingleCase, TestEvent, TestRecord, Verdict } from '../case.ts'
import { describe, isRefusal, isSuccess, mustBeAccepted, shouldBeAccepted, toVerdict } from '../verdict.ts'

/** Records that are documented, and unlike the one that was tried. */
const forms: readonly (Pick<SingleCase, 'id' | 'level' | 'sends' | 'why' | 'fix'> & {
  readonly record: (make: Maker) => TestRecord
  readonly judge?: SingleCase['judge']
})[] = [
  {
    id: 'text-quotes',
    level: 'fail',
    sends: `A contact whose last name has quotes, a backslash and signs of patterns in it: O'Brien "x" \\ % $1 {} <b> --.`,
    why: 'Names have such characters. Where text is put into a statement of SQL or a template, they end it: the event fails, or a sender runs what he likes.',
    fix: 'Hand text over as a parameter of the statement, and never as a part of it.',
    record: (make) => make.contact({ lastName: `O'Brien "x" \\ % $1 {} <b> --` }),
  },
  {
    id: 'text-empty',
    level: 'warn',
    sends: 'A contact whose last name and e-mail address are empty text.',
    why: 'Fields of a record are text, and empty text is text: not everybody whom a CRM knows has an address.',
    fix: 'Do not ask more of a field than that it is text.',
    record: (make) => make.contact({ lastName: '', email: '' }),
  },
  {
    id: 'text-long',
    level: 'warn',
    sends: 'A contact whose last name has 2,000 characters.',
    why: 'The service names no limit. A column of 255 characters refuses the record, or cuts it off.',
    fix: 'Store text in columns without a limit, or cut it off on purpose.',
    record: (make) => make.contact({ lastName: 'x'.repeat(2_000) }),
  },
  {
    id: 'text-null-character',
    level: 'warn',
    sends: 'A contact with the character U+0000 in its last name.',
    why: 'JSON can hold it, and imports bring it in. PostgreSQL stores it in no text, and fails.',
    fix: 'Take it out before the text is stored.',
    record: (make) => make.contact({ lastName: 'a\u0000b' }),
  },
  {
    id: 'text-half-character',
    level: 'warn',
    sends: 'A contact whose last name ends in the first half of a character, "\\ud83d".',
    why: 'Who cuts text off after so many units cuts such a character in two, and JSON can hold the half. Databases and encoders of UTF-8 fail at it.',
    fix: 'Replace what is no whole character by U+FFFD before the text is stored (toWellFormed).',
    // Strict parsers refuse it, as they may.
    judge: (answer) => (isRefusal(answer) ? toVerdict('info', answer) : shouldBeAccepted(answer)),
    record: (make) => make.contact({ lastName: 'a\ud83d' }),
  },
  {
    id: 'unknown-status',
    level: 'warn',
    sends: 'A contact whose status is "check".',
    why: 'The status is text, and its values are not documented.',
    fix: 'Store the status as text; give one that you do not know a meaning of your own.',
    record: (make) => make.contact({ status: 'check' }),
  },
  {
    id: 'record-id-form',
    level: 'warn',
    sends: 'A contact whose _id is not 24 hexadecimal digits.',
    why: 'The _id of a record is text, and its form is not documented. The other checks send the form that it most likely has.',
    fix: 'Store it as text, and not as an ObjectId or a number.',
    record: (make) => make.contact({ _id: `check-${make.contact()._id}` }),
  },
]

interface Step {
  readonly type: string
  readonly record: TestRecord
}

/** Two events of one record, the second of which has to be accepted as well. */
const inTurn =
  (steps: (record: TestRecord) => readonly [Step, Step]) =>
  async ({ make, send }: Scene): Promise<Verdict> => {
    const toEvent = ({ type, record }: Step): TestEvent => make.event({ type, data: { record } })
    const [earlier, later] = steps(make.contact())
    const first = await send(make.delivery(toEvent(earlier)))
    if (!isSuccess(first)) return { status: 'skipped', reason: `the first event was not accepted: ${describe(first)}` }
    const { status, reason } = mustBeAccepted(await send(make.delivery(toEvent(later))))
    return { status, reason: `first ${describe(first)}, then ${reason}` }
  }

/** Whether records are taken whatever is in them, and in whatever order they come. */
export const records: readonly Case[] = [
  {
    id: 'deleted-id-only',
    level: 'fail',
    sends:
      'A contact.created event, and then a contact.deleted event whose record has only its _id, as the service sends it.',
    expects: '2xx to both.',
    why: 'Deleted events never carry more; whoever asks for the other fields never sees a deletion.',
    fix: 'Do not apply the schema of created and updated records to deleted ones.',
    run: inTurn((record) => [
      { type: 'contact.created', record },
      { type: 'contact.deleted', record: { _id: record._id } },
    ]),
  },
  {
    id: 'deleted-before-created',
    level: 'fail',
    sends: 'A contact.deleted event of a record that was never created.',
    expects: '2xx',
    why: 'The service promises no order, and records may be older than the webhook: there is nothing to delete, and so nothing is left to do.',
    fix: 'Take a record that is not there for one that has been deleted.',
    deliver: (make) =>
      make.delivery(make.event({ type: 'contact.deleted', data: { record: { _id: make.contact()._id } } })),
    judge: mustBeAccepted,
  },
  {
    id: 'updated-before-created',
    level: 'fail',
    sends: 'A contact.updated event of a record that was never created.',
    expects: '2xx',
    why: 'The service promises no order: a retry of the creation can come hours after the change.',
    fix: 'Write what the event says whether the record is there or not (an upsert).',
    deliver: (make) => make.delivery(make.event({ type: 'contact.updated' })),
    judge: mustBeAccepted,
  },
  {
    id: 'created-after-updated',
    level: 'fail',
    sends: 'A contact.updated event, and then the contact.created event of the same record.',
    expects: '2xx to both.',
    why: 'A retry of the creation can come after the change. Who only inserts then fails at it until the service gives up.',
    fix: 'Write what the event says whether the record is there or not (an upsert), unless what is there is newer.',
    run: inTurn((record) => [
      { type: 'contact.updated', record: { ...record, lastName: 'Changed' } },
      { type: 'contact.created', record },
    ]),
  },
  {
    id: 'same-email',
    level: 'warn',
    sends: 'Two contacts with one e-mail address.',
    expects: '2xx to both; otherwise a warning.',
    why: 'Only the _id tells a record from another. That two have one address is not ruled out: families and offices share theirs.',
    fix: 'Do not give the column of addresses a unique key.',
    run: async (scene) => {
      const { email } = scene.make.contact()
      const verdict = await inTurn((record) => [
        { type: 'contact.created', record: { ...record, email } },
        { type: 'contact.created', record: scene.make.contact({ email }) },
      ])(scene)
      return verdict.status === 'fail' ? { ...verdict, status: 'warn' } : verdict
    },
  },
  ...forms.map(
    ({ record, ...text }): Case => ({
      expects: text.level === 'fail' ? '2xx' : '2xx; otherwise a warning.',
      deliver: (make) => make.delivery(make.event({ data: { record: record(make) } })),
      judge: text.level === 'fail' ? mustBeAccepted : shouldBeAccepted,
      ...text,
    }),
  ),
]

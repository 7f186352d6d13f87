import type { Case, Maker, Scene, TestDelivery, TestEvent, TestRecord, Verdict } from '../case.ts'
import {
  isRefusal,
  isSuccess,
  MUST_BE_ACCEPTED,
  mustBeAccepted,
  notAccepted,
  SHOULD_BE_ACCEPTED,
  toVerdict,
} from '../verdict.ts'
import { judgeEach } from '../work.ts'

const withContact =
  (change: (make: Maker) => Readonly<Record<string, unknown>>) =>
  (make: Maker): TestDelivery =>
    make.delivery(make.event({ type: `${make.model}.created`, data: { record: make.contact(change(make)) } }))

interface Change {
  readonly action: 'created' | 'updated'
  readonly record: TestRecord
}

/** Sends two events of one record, and passes if the second is accepted as well. */
const inTurn =
  (change: (record: TestRecord, make: Maker) => readonly [Change, Change]) =>
  async ({ make, send }: Scene): Promise<Verdict> => {
    const toEvent = ({ action, record }: Change): TestEvent =>
      make.event({ type: `${make.model}.${action}`, data: { record } })
    const [earlier, later] = change(make.contact(), make)
    const first = await send(make.delivery(toEvent(earlier)))
    if (!isSuccess(first)) return notAccepted(first)
    const second = await send(make.delivery(toEvent(later)))
    return toVerdict(isSuccess(second) ? 'pass' : 'fail', [first, second])
  }

/** Properties that every object of JavaScript has, and that a model, a field or an id may be called. */
const PROPERTIES = ['constructor', 'toString', 'hasOwnProperty']
/** Names for ids as well: as a field, `__proto__` is refused by a usual protection of parsers. */
export const IDS_OF_PROPERTIES: readonly string[] = [...PROPERTIES, '__proto__']

const MARKUP = `<script>alert(1)</script> ' OR 1=1 UNION SELECT ../../etc/passwd`

export const records: readonly Case[] = [
  {
    id: 'deleted-before-created',
    ...MUST_BE_ACCEPTED,
    sends: 'A contact.deleted event of a record that was never created; it has only its _id, as the service sends it.',
    why: 'The service guarantees no order, and records may be older than the webhook: there is nothing to delete, and therefore nothing to do. Deleted events never carry more; a receiver that requires the other fields never sees a deletion.',
    fix: 'Treat a missing record as already deleted, and do not apply the schema of created and updated records.',
    deliver: (make) => make.delivery(make.event({ type: `${make.model}.deleted` })),
  },
  {
    id: 'updated-before-created',
    ...MUST_BE_ACCEPTED,
    sends: 'A contact.updated event of a record that was never created.',
    why: 'The service guarantees no order: a retry of the created event can arrive hours after the updated event.',
    fix: 'Insert the record or update it, whichever applies (an upsert).',
    deliver: (make) => make.delivery(make.event({ type: `${make.model}.updated` })),
  },
  {
    id: 'created-after-updated',
    sends: 'A contact.updated event, and then the contact.created event of the same record.',
    expects: '2xx to both.',
    why: 'A retry of the created event can arrive after the updated event. A receiver that only inserts fails on it until the service gives up.',
    fix: 'Insert the record or update it (an upsert), unless the stored one is newer.',
    run: inTurn((record) => [
      { action: 'updated', record: { ...record, lastName: 'Changed' } },
      { action: 'created', record },
    ]),
  },
  {
    id: 'same-email',
    level: 'warn',
    sends: 'Two contacts with one e-mail address.',
    expects: '2xx to both; otherwise a warning.',
    why: 'Only the _id identifies a record. Two records may have the same address: families and offices share theirs.',
    fix: 'Do not put a unique key on the address column.',
    run: inTurn(({ email, ...record }, make) => [
      { action: 'created', record: { ...record, email } },
      { action: 'created', record: make.contact({ email }) },
    ]),
  },
  {
    id: 'text-quotes',
    ...MUST_BE_ACCEPTED,
    sends: `A contact whose last name has quotes, a backslash and pattern characters in it: O'Brien "x" \\ % $1 {} <b> --.`,
    why: 'Names have such characters. If code pastes text into an SQL statement or a template, they break out of it: the event fails, or a sender can run any statement.',
    fix: 'Pass text as a parameter of the statement, never as a part of it.',
    deliver: withContact(() => ({ lastName: `O'Brien "x" \\ % $1 {} <b> --` })),
  },
  {
    id: 'text-markup',
    ...MUST_BE_ACCEPTED,
    sends: `A contact whose last name reads like an attack on a website: ${MARKUP}.`,
    why: 'Anyone who fills in a form can make such a record. The signature shows that the service sent it, and a filter in front of the receiver that refuses it loses the event.',
    fix: 'Exempt the path of the webhook from the rules of the firewall (WAF) that look into bodies, and escape text when it is shown.',
    deliver: withContact(() => ({ lastName: MARKUP })),
  },
  {
    id: 'number-large',
    ...SHOULD_BE_ACCEPTED,
    sends: 'A contact with a number that takes more than 32 bits, 5000000000.',
    why: 'The service documents no range. Amounts in cents, times in milliseconds and numbers of rows exceed a column of 32 bits, which then fails.',
    fix: 'Store numbers in columns of 64 bits, or as text.',
    deliver: withContact(() => ({ revenue: 5_000_000_000 })),
  },
  {
    id: 'field-names',
    level: 'warn',
    sends: `Two contacts with custom fields: one with "custom.field" and "$custom", one with "${PROPERTIES.join('", "')}".`,
    expects: '2xx to each; otherwise a warning.',
    why: 'The names of custom fields are not documented. Some document databases refuse names with a dot, or with a dollar sign in front. In JavaScript, a field can hide a method of the same name: record.hasOwnProperty() then throws.',
    fix: 'Store the record as one text, or escape the names of its fields. In JavaScript, call Object.hasOwn(record, name), and no method of a record.',
    run: (scene) => {
      const ofObjects = Object.fromEntries(PROPERTIES.map((name) => [name, 'a']))
      const contacts = {
        'custom.field and $custom': { 'custom.field': 'a', $custom: 'b' },
        [PROPERTIES.join()]: ofObjects,
      }
      const deliveries = Object.entries(contacts).map(
        ([what, fields]) => [what, withContact(() => fields)(scene.make)] as const,
      )
      return judgeEach(scene, deliveries, mustBeAccepted)
    },
  },
  {
    id: 'property-names',
    sends: `Events with ids, of records with ids, and of models that are called like properties of every JavaScript object: ${IDS_OF_PROPERTIES.join(', ')}.`,
    expects: '2xx to each; a warning for 4xx. Never 5xx.',
    why: 'The form of ids is not documented, and a model may have any name. An object that is used as a table finds something under these names: code then calls it as a handler, or takes it for a row, and throws.',
    fix: 'Use a Map or a Set for what comes from outside, or Object.create(null).',
    run: (scene) => {
      const { make } = scene
      const deliveries = IDS_OF_PROPERTIES.flatMap((name) => [
        [`the id ${name}`, make.delivery({ ...make.event(), id: name })] as const,
        [`the record ${name}`, withContact(() => ({ _id: name }))(make)] as const,
      ])
      const models = PROPERTIES.map(
        (name) => [`the model ${name}`, make.delivery(make.event({ type: `${name}.created` }))] as const,
      )
      return judgeEach(scene, [...deliveries, ...models], (answer) =>
        isRefusal(answer) ? toVerdict('warn', answer) : mustBeAccepted(answer),
      )
    },
  },
  {
    id: 'text-empty',
    ...SHOULD_BE_ACCEPTED,
    sends: 'A contact whose last name and e-mail address are empty strings.',
    why: 'Fields of a record are strings, and an empty string is one: not every contact in a CRM has an e-mail address.',
    fix: 'Require only that a field is a string.',
    deliver: withContact(() => ({ lastName: '', email: '' })),
  },
  {
    id: 'text-long',
    ...SHOULD_BE_ACCEPTED,
    sends: 'A contact whose last name has 2,000 characters.',
    why: 'The service documents no limit. A column of 255 characters refuses the record, or truncates it.',
    fix: 'Store text in columns without a limit, or truncate it on purpose.',
    deliver: withContact(() => ({ lastName: 'x'.repeat(2_000) })),
  },
  {
    id: 'text-null-character',
    ...SHOULD_BE_ACCEPTED,
    sends: 'A contact with the character U+0000 in its last name.',
    why: 'JSON can hold it, and imports contain it. PostgreSQL cannot store it in text, and fails.',
    fix: 'Remove it before storing the text.',
    deliver: withContact(() => ({ lastName: 'a\u0000b' })),
  },
  {
    id: 'text-half-character',
    ...SHOULD_BE_ACCEPTED,
    sends: 'A contact whose last name ends in the first half of a character, "\\ud83d".',
    why: 'Programs that truncate text after a number of UTF-16 units cut such a character in half, and JSON can hold the half. Databases and UTF-8 encoders fail on it.',
    fix: 'Replace half characters with U+FFFD before storing the text (toWellFormed).',
    // A strict parser may refuse it.
    judge: (answer) => (isRefusal(answer) ? toVerdict('info', answer) : mustBeAccepted(answer)),
    deliver: withContact(() => ({ lastName: 'a\ud83d' })),
  },
  {
    id: 'record-fields-missing',
    level: 'warn',
    sends: 'Contacts of which firstName, lastName, email or status is absent, or null; and one that has only its _id.',
    expects: '2xx to each; otherwise a warning.',
    why: 'The service documents the fields of a contact, and not that each contact has all of them. A schema that requires one refuses the record on every attempt.',
    fix: 'Require only the _id; let the other fields be absent or null.',
    run: (scene) => {
      const { make } = scene
      const changes = ['firstName', 'lastName', 'email', 'status'].flatMap((name) =>
        [undefined, null].map((value) => [`${name} ${value === null ? 'null' : 'absent'}`, { [name]: value }] as const),
      )
      const bare = { firstName: undefined, lastName: undefined, email: undefined, status: undefined }
      const deliveries = [...changes, ['only its _id', bare] as const].map(
        ([what, change]) => [what, withContact(() => change)(make)] as const,
      )
      return judgeEach(scene, deliveries, mustBeAccepted)
    },
  },
  {
    id: 'unknown-status',
    ...SHOULD_BE_ACCEPTED,
    sends: 'A contact whose status is "check".',
    why: 'The status is text, and its values are not documented.',
    fix: 'Store the status as text, and handle unknown values with a default.',
    deliver: withContact(() => ({ status: 'check' })),
  },
  {
    id: 'record-id-form',
    ...SHOULD_BE_ACCEPTED,
    sends: 'A contact whose _id is not 24 hexadecimal digits.',
    why: 'The _id of a record is text, and its form is not documented. The other checks send the form that is most likely.',
    fix: 'Store it as text, not as an ObjectId or a number.',
    deliver: withContact((make) => ({ _id: `check-${make.contact()._id}` })),
  },
]

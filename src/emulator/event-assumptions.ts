/** Assumptions about subscriptions, events and deliveries: A27 to A40. */
export const EVENT_ASSUMPTIONS = {
  unknownTypes: {
    id: 'A27',
    subject: 'subscription to a type outside the table, such as `invoice.paid`',
    default: 'accepted',
    values: { accepted: 'accepted with a warning; nothing triggers it automatically', refused: '422' },
  },
  wildcards: {
    id: 'A28',
    subject: '`*`, `contact.*` and `*.deleted` as a subscription',
    default: 'literal',
    values: { literal: 'accepted as text that no event type equals', matched: 'matched as patterns' },
  },
  emptyEvents: {
    id: 'A29',
    subject: 'empty `events`',
    default: 'refused',
    values: { refused: '422; duplicates count once', accepted: 'accepted; nothing triggers it' },
  },
  urlRule: {
    id: 'A30',
    subject: 'accepted URLs',
    default: 'local',
    values: {
      local: 'https to any public host and to loopback, http to loopback only',
      any: 'http and https, private networks too',
      strict: 'https to public hosts only',
    },
  },
  eventsWhilePaused: {
    id: 'A31',
    subject: 'events while a webhook is paused',
    default: 'dropped',
    values: { dropped: 'never delivered', kept: 'delivered on resume' },
  },
  retriesWhilePaused: {
    id: 'A32',
    subject: 'attempts that fall due while a webhook is paused',
    default: 'held',
    values: {
      held: 'made immediately on resume',
      dropped: 'not made, and the delivery has failed',
      counted: 'counted as failed attempts',
    },
  },
  deletedLog: {
    id: 'A33',
    subject: 'delivery log of a deleted webhook',
    default: 'gone',
    values: { gone: 'deleted; further attempts are cancelled', kept: 'kept; pending deliveries have failed' },
  },
  changedUrl: {
    id: 'A34',
    subject: 'URL changed between attempts',
    default: 'new',
    values: { new: 'the next attempt goes to the new URL', old: 'the next attempt goes to the URL of the first one' },
  },
  eventIds: {
    id: 'A35',
    subject: 'one event for two webhooks',
    default: 'same-id',
    values: { 'same-id': 'one event id', 'own-ids': 'an event id for each' },
  },
  delayFrom: {
    id: 'A36',
    subject: 'start of a delay',
    default: 'end',
    values: { end: 'the end of the failed attempt', planned: 'the time at which that attempt was due' },
  },
  idForm: {
    id: 'A37',
    subject: 'form of ids',
    default: 'hex',
    values: { hex: '24 hexadecimal digits, after `evt_` for events', uuid: 'UUIDs', number: 'digits' },
  },
  sampleData: {
    id: 'A38',
    subject: '`data` of payment, sync, import and export events',
    default: 'sample',
    values: {
      sample: 'a small sample without `record`',
      record: 'the sample as `record`',
      empty: 'an empty object',
      missing: 'no `data`',
    },
  },
  unchangedUpdate: {
    id: 'A39',
    subject: 'an update that changes nothing; deletion of an unknown record',
    default: 'sent',
    values: { sent: 'the event is sent; 404 and no event' },
  },
  signatureCase: {
    id: 'A40',
    subject: 'case of the digits of the signature',
    default: 'lower',
    values: { lower: 'lower', upper: 'upper' },
  },
} as const

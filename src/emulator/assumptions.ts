/** One thing that the service text leaves open, and the ways in which the service may be. */
export interface Assumption {
  readonly subject: string
  /** What the emulator does unless told otherwise: one of the values. */
  readonly default: string
  /** Each value, with what it means. */
  readonly values: Readonly<Record<string, string>>
}

/** Everything that the service text marks as not shown. The one source: options, routes, the documents and the page read it here. */
export const ASSUMPTIONS = {
  A01: {
    subject: '`active` left out when a webhook is created',
    default: 'true',
    values: { true: 'the webhook is active', false: 'the webhook is paused' },
  },
  A02: { subject: 'status of a creation', default: '201', values: { 200: '200', 201: '201' } },
  A03: {
    subject: 'body of a webhook that is read or updated',
    default: 'plain',
    values: {
      plain: 'the registration without `secret`',
      data: 'the same, wrapped in `data`',
      webhook: 'the same, wrapped in `webhook`',
      'null-secret': 'the registration with `secret` null',
      'masked-secret': 'the registration with `secret` of stars',
      'extra-fields': 'the registration with fields that nobody documented',
    },
  },
  A04: {
    subject: 'body of the list of webhooks, and of the delivery log',
    default: 'array',
    values: {
      array: 'a bare array',
      data: '`{ data }`',
      items: '`{ items, total }`',
      named: '`{ webhooks }` and `{ deliveries }`',
      docs: '`{ docs, page }`',
    },
  },
  A05: { subject: 'name of the id', default: '_id', values: { _id: '`_id`', id: '`id`', both: '`_id` and `id`' } },
  A06: {
    subject: 'answer to a deletion',
    default: '204',
    values: {
      200: '200 and no body',
      204: '204',
      success: '200 and `{ success: true }`',
      object: '200 and the deleted webhook',
    },
  },
  A07: {
    subject: 'what PUT does with fields',
    default: 'merge',
    values: {
      merge: 'given fields are changed, `description` among them; unknown ones are ignored',
      replace: 'fields that are not given go back to their defaults, where they have one',
      strict: 'unknown fields are refused with 400',
    },
  },
  A08: {
    subject: 'order and paging of webhooks',
    default: 'none',
    values: {
      none: 'in order of creation, all at once',
      pages: 'in order of creation, `?page` from 1 and `?limit` (default 20)',
      cursor:
        'in order of creation, `?cursor` and `?limit` (default 20); `nextCursor` beside the items while there are more',
    },
  },
  A09: {
    subject: 'fields of an entry of the delivery log',
    default: 'full',
    values: {
      full: '`_id`, `webhookId`, `eventId`, `eventType`, `status`, `attempts`, `maxAttempts`, `createdAt`, `lastAttemptAt`, `nextAttemptAt`, `responseStatus`, `error`, `durationMs`, `attemptLog`',
      minimal: '`_id`, `status` and `createdAt` only',
      embedded: 'the event itself as `event`, in place of `eventId` and `eventType`',
      type: '`type` in place of `eventType`',
      'epoch-milliseconds': 'times are numbers',
      'extra-fields': 'with fields that nobody documented',
    },
  },
  A10: {
    subject: 'words for the states of a delivery; `failed` is documented',
    default: 'pending',
    values: {
      pending: '`pending`, `success`, `failed`',
      delivered: '`queued`, `attempting`, `retrying`, `delivered`, `failed`',
      succeeded: '`attempting`, `succeeded`, `failed`',
      upper: '`PENDING`, `SUCCESS`, `FAILED`',
      unknown: 'words that nobody expects, and `failed`',
    },
  },
  A11: {
    subject: 'order and paging of the delivery log',
    default: 'newest',
    values: {
      newest: 'newest first, `?limit` (default and most 100) and `?before` with the id of an entry',
      oldest: 'oldest first, all at once',
    },
  },
  A12: {
    subject: 'answer to a retry',
    default: '202',
    values: {
      202: '202 and the entry',
      200: '200 and the entry',
      204: '204',
      empty: '200 and no body',
      success: '200 and `{ success: true }`',
    },
  },
  A13: {
    subject: 'what a retry does',
    default: 'one',
    values: { one: 'one attempt at once, which decides', schedule: 'the whole schedule again' },
  },
  A14: {
    subject: 'retry of a delivery that has not failed',
    default: '409',
    values: { 400: '400', 409: '409', 422: '422', accepted: 'it is sent again' },
  },
  A15: {
    subject: 'body of a retry',
    default: 'same',
    values: { same: 'the same bytes', 'new-timestamp': 'the same event with the time of the retry as `timestamp`' },
  },
  A16: {
    subject: 'body of the list of contacts',
    default: 'array',
    values: {
      array: 'a bare array; `?page` and `?limit` (default 50) are understood',
      data: 'the same as `{ data }`',
      items: 'the same as `{ items, total }`',
      named: 'the same as `{ contacts }`',
      docs: 'the same as `{ docs, page }`',
    },
  },
  A17: {
    subject: 'body of an error',
    default: 'flat',
    values: {
      flat: '`{ statusCode, error, message }`',
      nested: '`{ error: { code, message } }`',
      messages: '`{ statusCode, message: [...] }`',
      problem: '`application/problem+json`',
      text: 'plain text for 401 and 429, HTML for the rest',
      empty: 'nothing',
    },
  },
  A18: {
    subject: 'status of bad JSON, an invalid field, an unknown id, a wrong method',
    default: 'distinct',
    values: { distinct: '400, 422, 404, 405', merged: '400, 400, 404, 404' },
  },
  A19: { subject: "id of another account's", default: '404', values: { 403: '403', 404: '404' } },
  A20: { subject: 'status of a refused login', default: '401', values: { 400: '400', 401: '401', 403: '403' } },
  A21: {
    subject: 'unit of `expiresIn`',
    default: 'seconds',
    values: {
      seconds: 'seconds from now',
      milliseconds: 'milliseconds from now',
      'epoch-seconds': 'seconds since 1970',
      'epoch-milliseconds': 'milliseconds since 1970',
    },
  },
  A22: {
    subject: 'what is in the token',
    default: 'claims',
    values: {
      claims: 'a JWT, HS256, with `sub`, `accountKey`, `iat` and `exp`',
      renamed: 'a JWT with `user`, `tenant` and `exp`',
      opaque: 'no JWT at all',
    },
  },
  A23: {
    subject: 'what requests are counted by; logins always by address',
    default: 'token',
    values: { token: 'by token', account: 'by account', address: 'by address' },
  },
  A24: {
    subject: 'unit of `X-RateLimit-Reset`',
    default: 'epoch-seconds',
    values: {
      'epoch-seconds': 'seconds since 1970',
      'seconds-left': 'seconds from now',
      'epoch-milliseconds': 'milliseconds since 1970',
    },
  },
  A25: {
    subject: 'which answers carry the rate headers',
    default: 'all',
    values: { all: 'all, 401, 429 and login included', success: '2xx only', none: 'none' },
  },
  A26: {
    subject: '`Retry-After` with 429',
    default: 'absent',
    values: { absent: 'absent', seconds: 'seconds', date: 'a date' },
  },
  A27: {
    subject: 'subscription to a type outside the table, such as `invoice.paid`',
    default: 'accepted',
    values: { accepted: 'accepted with a warning; nothing fires it by itself', refused: '422' },
  },
  A28: {
    subject: '`*`, `contact.*` and `*.deleted` as a subscription',
    default: 'literal',
    values: { literal: 'accepted as text that no event type equals', matched: 'matched as patterns' },
  },
  A29: {
    subject: 'empty `events`',
    default: 'refused',
    values: { refused: '422; what is named twice counts once', accepted: 'accepted; nothing fires it' },
  },
  A30: {
    subject: 'which URLs are taken',
    default: 'local',
    values: {
      local: 'https to any public host and to loopback, http to loopback only',
      any: 'http and https, private networks too',
      strict: 'https to public hosts only',
    },
  },
  A31: {
    subject: 'events while a webhook is paused',
    default: 'dropped',
    values: { dropped: 'never delivered', kept: 'delivered on resume' },
  },
  A32: {
    subject: 'attempts that fall due while a webhook is paused',
    default: 'held',
    values: {
      held: 'made at once on resume',
      dropped: 'not made, and the delivery has failed',
      counted: 'counted as failed attempts',
    },
  },
  A33: {
    subject: 'delivery log of a deleted webhook',
    default: 'gone',
    values: { gone: 'gone; attempts to come are cancelled', kept: 'kept; what was pending has failed' },
  },
  A34: {
    subject: 'URL changed between attempts',
    default: 'new',
    values: { new: 'the next attempt goes to the new one', old: 'to the one of the first attempt' },
  },
  A35: {
    subject: 'one event for two webhooks',
    default: 'same-id',
    values: { 'same-id': 'one event id', 'own-ids': 'an event id for each' },
  },
  A36: {
    subject: 'what a delay counts from',
    default: 'end',
    values: { end: 'the end of the failed attempt', planned: 'the time at which that attempt was due' },
  },
  A37: {
    subject: 'form of ids',
    default: 'hex',
    values: { hex: '24 hexadecimal digits, behind `evt_` for events', uuid: 'UUIDs', number: 'digits' },
  },
  A38: {
    subject: '`data` of payment, sync, import and export events',
    default: 'sample',
    values: {
      sample: 'a small sample without `record`',
      record: 'the sample as `record`',
      empty: 'an empty object',
      missing: 'no `data`',
    },
  },
  A39: {
    subject: 'an update that changes nothing; deletion of an unknown record',
    default: 'sent',
    values: { sent: 'the event is sent; 404 and no event' },
  },
  A40: {
    subject: 'case of the digits of the signature',
    default: 'lower',
    values: { lower: 'lower', upper: 'upper' },
  },
} as const satisfies Readonly<Record<string, Assumption>>

export type AssumptionId = keyof typeof ASSUMPTIONS

/** A value for each assumption. */
export type Assumed = {
  readonly [Id in AssumptionId]: `${keyof (typeof ASSUMPTIONS)[Id]['values'] & (string | number)}`
}

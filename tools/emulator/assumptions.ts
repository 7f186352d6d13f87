/** Everything that the service text marks as not shown, by name. Options, routes and documentation all read this table. */
export const ASSUMPTIONS = {
  activeWhenOmitted: open('A01', '`active` omitted when a webhook is created', 'true', {
    true: 'the webhook is active',
    false: 'the webhook is paused',
  }),
  creationStatus: open('A02', 'status of a creation', '201', { 200: '200', 201: '201' }),
  webhookBody: open('A03', 'body of a webhook that is read or updated', 'plain', {
    plain: 'the registration without `secret`',
    data: 'the same, wrapped in `data`',
    webhook: 'the same, wrapped in `webhook`',
    'null-secret': 'the registration with `secret` null',
    'masked-secret': 'the registration with `secret` of stars',
    'extra-fields': 'the registration with undocumented fields',
  }),
  listBody: open('A04', 'body of the list of webhooks, and of the delivery log', 'array', {
    array: 'a bare array',
    data: '`{ data }`',
    items: '`{ items, total }`',
    named: '`{ webhooks }` and `{ deliveries }`',
    docs: '`{ docs, page }`',
  }),
  idName: open('A05', 'name of the id', '_id', { _id: '`_id`', id: '`id`', both: '`_id` and `id`' }),
  deletionAnswer: open('A06', 'answer to a deletion', '204', {
    200: '200 and no body',
    204: '204',
    success: '200 and `{ success: true }`',
    object: '200 and the deleted webhook',
  }),
  updateFields: open('A07', 'treatment of fields by PUT', 'merge', {
    merge: 'fields in the request are changed, including `description`; unknown ones are ignored',
    replace: 'omitted fields are reset to their defaults, if they have one',
    strict: 'unknown fields are refused with 400',
  }),
  webhookPaging: open('A08', 'order and paging of webhooks', 'none', {
    none: 'in order of creation, on one page',
    pages: 'in order of creation, `?page` from 1 and `?limit` (default 20)',
    cursor:
      'in order of creation, `?cursor` and `?limit` (default 20); `nextCursor` beside the items while there are more',
  }),
  logEntry: open('A09', 'fields of an entry of the delivery log', 'full', {
    full: '`_id`, `webhookId`, `eventId`, `eventType`, `status`, `attempts`, `maxAttempts`, `createdAt`, `lastAttemptAt`, `nextAttemptAt`, `responseStatus`, `error`, `durationMs`, `attemptLog`',
    minimal: '`_id`, `status` and `createdAt` only',
    embedded: 'the event itself as `event`, instead of `eventId` and `eventType`',
    type: '`type` instead of `eventType`',
    'epoch-milliseconds': 'times are numbers',
    'extra-fields': 'with undocumented fields',
  }),
  deliveryWords: open('A10', 'words for the states of a delivery; `failed` is documented', 'pending', {
    pending: '`pending`, `success`, `failed`',
    delivered: '`queued`, `attempting`, `retrying`, `delivered`, `failed`',
    succeeded: '`attempting`, `succeeded`, `failed`',
    upper: '`PENDING`, `SUCCESS`, `FAILED`',
    unknown: 'undocumented words, and `failed`',
  }),
  logPaging: open('A11', 'order and paging of the delivery log', 'newest', {
    newest: 'newest first, `?limit` (default and maximum 100) and `?before` with the id of an entry',
    oldest: 'oldest first, on one page',
  }),
  retryAnswer: open('A12', 'answer to a retry', '202', {
    202: '202 and the entry',
    200: '200 and the entry',
    204: '204',
    empty: '200 and no body',
    success: '200 and `{ success: true }`',
  }),
  retryAttempts: open('A13', 'attempts of a retry', 'one', {
    one: 'one immediate attempt, which decides',
    schedule: 'the whole schedule again',
  }),
  retryOfUnfailed: open('A14', 'retry of a delivery that has not failed', '409', {
    400: '400',
    409: '409',
    422: '422',
    accepted: 'it is sent again',
  }),
  retryBody: open('A15', 'body of a retry', 'same', {
    same: 'the same bytes',
    'new-timestamp': 'the same event with the time of the retry as `timestamp`',
  }),
  contactsBody: open('A16', 'body of the list of contacts', 'array', {
    array: 'a bare array; `?page` and `?limit` (default 50) are supported',
    data: 'the same as `{ data }`',
    items: 'the same as `{ items, total }`',
    named: 'the same as `{ contacts }`',
    docs: 'the same as `{ docs, page }`',
  }),
  errorBody: open('A17', 'body of an error', 'flat', {
    flat: '`{ statusCode, error, message }`',
    nested: '`{ error: { code, message } }`',
    messages: '`{ statusCode, message: [...] }`',
    problem: '`application/problem+json`',
    text: 'plain text for 401 and 429, HTML for the rest',
    empty: 'nothing',
  }),
  errorStatus: open('A18', 'status of bad JSON, an invalid field, an unknown id, a wrong method', 'distinct', {
    distinct: '400, 422, 404, 405',
    merged: '400, 400, 404, 404',
  }),
  foreignIdStatus: open('A19', 'id that belongs to another account', '404', { 403: '403', 404: '404' }),
  refusedLoginStatus: open('A20', 'status of a refused login', '401', { 400: '400', 401: '401', 403: '403' }),
  expiresInUnit: open('A21', 'unit of `expiresIn`', 'seconds', {
    seconds: 'seconds from now',
    milliseconds: 'milliseconds from now',
    'epoch-seconds': 'seconds since 1970',
    'epoch-milliseconds': 'milliseconds since 1970',
  }),
  tokenForm: open('A22', 'content of the token', 'claims', {
    claims: 'a JWT, HS256, with `sub`, `accountKey`, `iat` and `exp`',
    renamed: 'a JWT with `user`, `tenant` and `exp`',
    opaque: 'no JWT at all',
  }),
  rateScope: open('A23', 'scope of the rate limit; logins always count by address', 'token', {
    token: 'by token',
    account: 'by account',
    address: 'by address',
  }),
  rateResetUnit: open('A24', 'unit of `X-RateLimit-Reset`', 'epoch-seconds', {
    'epoch-seconds': 'seconds since 1970',
    'seconds-left': 'seconds from now',
    'epoch-milliseconds': 'milliseconds since 1970',
  }),
  rateHeaders: open('A25', 'answers with rate limit headers', 'all', {
    all: 'all, 401, 429 and login included',
    success: '2xx only',
    none: 'none',
  }),
  retryAfter: open('A26', '`Retry-After` with 429', 'absent', { absent: 'absent', seconds: 'seconds', date: 'a date' }),
  unknownTypes: open('A27', 'subscription to a type outside the table, such as `invoice.paid`', 'accepted', {
    accepted: 'accepted with a warning; nothing triggers it automatically',
    refused: '422',
  }),
  wildcards: open('A28', '`*`, `contact.*` and `*.deleted` as a subscription', 'literal', {
    literal: 'accepted as text that no event type equals',
    matched: 'matched as patterns',
  }),
  emptyEvents: open('A29', 'empty `events`', 'refused', {
    refused: '422; duplicates count once',
    accepted: 'accepted; nothing triggers it',
  }),
  urlRule: open('A30', 'accepted URLs', 'local', {
    local: 'https to any public host and to loopback, http to loopback only',
    any: 'http and https, private networks too',
    strict: 'https to public hosts only',
  }),
  eventsWhilePaused: open('A31', 'events while a webhook is paused', 'dropped', {
    dropped: 'never delivered',
    kept: 'delivered on resume',
  }),
  retriesWhilePaused: open('A32', 'attempts that fall due while a webhook is paused', 'held', {
    held: 'made immediately on resume',
    dropped: 'not made, and the delivery has failed',
    counted: 'counted as failed attempts',
  }),
  deletedLog: open('A33', 'delivery log of a deleted webhook', 'gone', {
    gone: 'deleted; further attempts are cancelled',
    kept: 'kept; pending deliveries have failed',
  }),
  changedUrl: open('A34', 'URL changed between attempts', 'new', {
    new: 'the next attempt goes to the new URL',
    old: 'the next attempt goes to the URL of the first one',
  }),
  eventIds: open('A35', 'one event for two webhooks', 'same-id', {
    'same-id': 'one event id',
    'own-ids': 'an event id for each',
  }),
  delayFrom: open('A36', 'start of a delay', 'end', {
    end: 'the end of the failed attempt',
    planned: 'the time at which that attempt was due',
  }),
  idForm: open('A37', 'form of ids', 'hex', {
    hex: '24 hexadecimal digits, after `evt_` for events',
    uuid: 'UUIDs',
    number: 'digits',
  }),
  sampleData: open('A38', '`data` of payment, sync, import and export events', 'sample', {
    sample: 'a small sample without `record`',
    record: 'the sample as `record`',
    empty: 'an empty object',
    missing: 'no `data`',
  }),
  unchangedUpdate: open('A39', 'an update that changes nothing; deletion of an unknown record', 'sent', {
    sent: 'the event is sent; 404 and no event',
  }),
  signatureCase: open('A40', 'case of the digits of the signature', 'lower', { lower: 'lower', upper: 'upper' }),
} as const

/** Name of an assumption, such as `listBody`. */
type AssumptionName = keyof typeof ASSUMPTIONS

/** A value for each assumption. */
export type Assumed = {
  readonly [Name in AssumptionName]: `${keyof (typeof ASSUMPTIONS)[Name]['values'] & (string | number)}`
}

/** Values for some assumptions, by name or by id. */
export type AssumedOptions = {
  readonly [Name in AssumptionName as Name | (typeof ASSUMPTIONS)[Name]['id']]?: Assumed[Name] | undefined
}

/**
 * Makes an open question.
 *
 * @param id number in the documentation, which may be used instead of the name
 * @param usual value that applies unless another is chosen
 * @param values possible values, each with its meaning
 */
function open<const Id extends string, const Values extends Readonly<Record<string, string>>>(
  id: Id,
  subject: string,
  usual: `${keyof Values & (string | number)}`,
  values: Values,
) {
  return { id, subject, default: usual, values }
}

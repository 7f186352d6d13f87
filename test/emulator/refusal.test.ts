import { describe, expect, it } from 'vitest'
import { assumeAll } from '../../tools/emulator/dialects.ts'
import { assumedStatusOf, Refusal, type RefusalKind, STATUS_OF, showError } from '../../tools/emulator/refusal.ts'

/** Each kind of refusal with its status by default, and with all assumptions that change statuses. */
const STATUSES: readonly [RefusalKind, usual: number, assumed: number][] = [
  ['bad-request', 400, 400],
  ['bad-json', 400, 400],
  ['invalid', 422, 400],
  ['unauthorized', 401, 401],
  ['login-refused', 401, 403],
  ['forbidden', 403, 403],
  ['unknown', 404, 404],
  ['of-another-account', 404, 403],
  ['method', 405, 404],
  ['not-failed', 409, 422],
  ['exists', 409, 409],
  ['too-large', 413, 413],
  ['media-type', 415, 415],
  ['rate-limit', 429, 429],
  ['full', 503, 503],
  ['inbox-away', 503, 503],
  ['fault', 500, 500],
]

it.each(STATUSES)('the refusal %s is answered with %i, and with %i by the assumptions', (kind, usual, assumed) => {
  const assumptions = { errorStatus: 'merged', foreignIdStatus: '403', refusedLoginStatus: '403', A14: '422' }
  expect(STATUS_OF[kind]).toBe(usual)
  expect(assumedStatusOf(kind, assumeAll())).toBe(usual)
  expect(assumedStatusOf(kind, assumeAll('default', assumptions))).toBe(assumed)
})

it.each([
  ['login-refused', 'refusedLoginStatus', '400', 400],
  ['not-failed', 'retryOfUnfailed', '400', 400],
  ['not-failed', 'retryOfUnfailed', 'accepted', 409],
] as const)('the refusal %s is answered as %s says: %s', (kind, name, value, status) => {
  expect(assumedStatusOf(kind, assumeAll('default', { [name]: value }))).toBe(status)
})

describe('the body of an error', () => {
  const refusal = new Refusal('of-another-account', 'not here', 'nor there')
  const message = 'not here; nor there'
  const JSON_TYPE = 'application/json'

  it.each([
    ['flat', { statusCode: 404, error: 'Not Found', message }, JSON_TYPE],
    ['nested', { error: { code: 'of_another_account', message } }, JSON_TYPE],
    ['messages', { statusCode: 404, message: ['not here', 'nor there'] }, JSON_TYPE],
    ['problem', { type: 'about:blank', title: 'Not Found', status: 404, detail: message }, 'application/problem+json'],
  ] as const)('is JSON in the form %s (A17)', (form, json, contentType) => {
    const shown = showError(refusal, 404, form)
    expect([JSON.parse(shown?.body ?? ''), shown?.contentType]).toEqual([json, contentType])
  })

  it('is absent in the form empty', () => {
    expect(showError(refusal, 404, 'empty')).toBeUndefined()
  })

  it.each([
    [401, 'text/plain; charset=utf-8', 'Unauthorized: not here; nor there'],
    [429, 'text/plain; charset=utf-8', 'Too Many Requests: not here; nor there'],
    [
      404,
      'text/html; charset=utf-8',
      '<!doctype html><html><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>\n',
    ],
  ])('is text or HTML in the form text: %i', (status, contentType, body) => {
    expect(showError(refusal, status, 'text')).toEqual({ contentType, body })
  })

  it('names the reason of its status, or none', () => {
    const reasons = [422, 599].map((status) => JSON.parse(showError(refusal, status, 'flat')?.body ?? '').error)
    expect(reasons).toEqual(['Unprocessable Entity', 'Error'])
  })
})

import { describe, expect, it } from 'vitest'
import { assumeAll } from '../../tools/emulator/dialects.ts'
import { assumedStatusOf, Refusal, showError } from '../../tools/emulator/refusal.ts'

it.each([
  ['login-refused', {}, 401],
  ['login-refused', { A20: '400' }, 400],
  ['login-refused', { A20: '403' }, 403],
  ['of-another-account', {}, 404],
  ['of-another-account', { A19: '403' }, 403],
  ['invalid', {}, 422],
  ['invalid', { A18: 'merged' }, 400],
  ['method', { A18: 'merged' }, 404],
  ['not-failed', { A14: '400' }, 400],
  ['not-failed', { A14: '422' }, 422],
  ['not-failed', { A14: 'accepted' }, 409],
] as const)('the refusal %s is answered by the assumptions %j with %i', (kind, assume, status) => {
  expect(assumedStatusOf(kind, assumeAll('default', assume))).toBe(status)
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
})

import { openEvent, sign } from 'postern'
import { events, signed } from 'postern/testing'
import { describe, expect, it } from 'vitest'

const SECRET = 'whsec_5f1d3a'
const EVENT = events.contact.created()
const BODY = JSON.stringify(EVENT)

describe('openEvent', () => {
  it('returns the event of a signed body, as bytes or text, with model and action', () => {
    const { body, signature } = signed(EVENT, { secret: SECRET })
    const expected = { event: { ...EVENT, model: 'contact', action: 'created' } }
    expect(openEvent(body, signature, SECRET)).toEqual(expected)
    expect(openEvent(BODY, sign(BODY, SECRET), ['old', SECRET])).toEqual(expected)
  })

  it.each([
    ['no signature', BODY, undefined, 'signature_missing', 401],
    ['two signatures', BODY, ['sha256=', 'sha256='], 'signature_malformed', 401],
    ['a signature by another secret', BODY, sign(BODY, 'other'), 'signature_mismatch', 401],
    ['a body that is no JSON', '{', sign('{', SECRET), 'invalid_json', 400],
    ['a body that is no event', '{}', sign('{}', SECRET), 'invalid_envelope', 400],
  ])('refuses %s', (_what, body, header, code, status) => {
    expect(openEvent(body, header, SECRET)).toEqual({ event: undefined, code, status, reason: expect.any(String) })
  })

  it('refuses an event of another account than that of its secret', () => {
    const secrets = { secret: SECRET, accountKey: 'other' }
    const refused = openEvent(BODY, sign(BODY, SECRET), secrets)
    expect(refused).toMatchObject({ code: 'account_mismatch', status: 401 })
    expect(refused.reason).toContain('another account ("other") than the event ("acme")')
  })

  it('throws for a parsed body, and for a secret that is missing', () => {
    expect(() => openEvent(EVENT as never, '', SECRET)).toThrow(expect.objectContaining({ code: 'body_consumed' }))
    expect(() => openEvent(BODY, '', undefined)).toThrow(expect.objectContaining({ code: 'secret_unusable' }))
  })
})

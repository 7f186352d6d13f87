import { expect, it } from 'vitest'
import { tokenLifetime } from '../../src/client/session.ts'

const NOW = Date.parse('2025-06-01T12:00:00Z')
const HOUR = 3_600_000
const SECONDS = NOW / 1_000

function jwt(claims: unknown): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'HS256' })}.${part(claims)}.c2lnbmF0dXJl`
}

it.each<[string, string, number | undefined, number | undefined]>([
  ['seconds', 'opaque', 3_600, HOUR],
  ['milliseconds', 'opaque', 3_600_000, HOUR],
  ['seconds since 1970', 'opaque', SECONDS + 3_600, HOUR],
  ['milliseconds since 1970', 'opaque', NOW + HOUR, HOUR],
  ['a time that has passed', 'opaque', SECONDS - 3_600, undefined],
  ['a time that is now', 'opaque', SECONDS, undefined],
  ['nothing', 'opaque', undefined, undefined],
  ['exp and iat of a JWT, whatever our clock', jwt({ exp: 7_200, iat: 3_600 }), undefined, HOUR],
  ['exp and iat in milliseconds', jwt({ exp: NOW + HOUR, iat: NOW }), 5, HOUR],
  ['exp alone', jwt({ exp: SECONDS + 3_600 }), 5, HOUR],
  ['exp that has passed, so expiresIn', jwt({ exp: SECONDS - 1 }), 3_600, HOUR],
  ['a JWT without times', jwt({ sub: 'ada' }), 3_600, HOUR],
  ['a JWT that is none', 'a.b.c', 3_600, HOUR],
  ['a JWT of a list', jwt([1]), 3_600, HOUR],
  ['a JWT of null', jwt(null), 3_600, HOUR],
  ['exp as text', jwt({ exp: '7200', iat: 0 }), 3_600, HOUR],
  ['exp without end', `a.${Buffer.from('{"exp":1e999}').toString('base64url')}.c`, 3_600, HOUR],
  ['exp alone where iat makes no sense', jwt({ exp: SECONDS + 3_600, iat: 'now' }), 5, HOUR],
  ['a JWT with signs that URLs escape', jwt({ exp: 7_200, iat: 3_600, name: '~~~~ÿÿÿ???>>>' }), 5, HOUR],
])('reads %s', (_what, token, expiresIn, lifetime) => {
  expect(tokenLifetime(token, expiresIn, NOW)).toBe(lifetime)
})

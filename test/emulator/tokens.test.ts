import { manualClock } from 'postern/testing'
import { expect, it } from 'vitest'
import { call, start } from './support.ts'

it.each([
  ['1ms', 0],
  ['500ms', 0],
  ['500ms', 999],
  ['999ms', 1],
  ['1s', 0],
  ['1.5s', 750],
  ['1h', 999],
] as const)('a token with a tokenTtl of %s is valid for exactly that, %d ms into a second', async (tokenTtl, into) => {
  const clock = manualClock(Date.parse('2026-01-01T00:00:00Z') + into)
  const crm = await start({ clock, tokenTtl })
  const begin = clock.now()
  const token = await crm.login()
  const statusAt = async (ms: number) => {
    await crm.clock.advance(begin + ms - clock.now())
    return (await call(crm, 'GET /api/sales/contacts', { token })).status
  }
  const ttlMs = { '1ms': 1, '500ms': 500, '999ms': 999, '1s': 1_000, '1.5s': 1_500, '1h': 3_600_000 }[tokenTtl]
  expect([await statusAt(0), await statusAt(ttlMs - 1), await statusAt(ttlMs)]).toEqual([200, 200, 401])
})

it.each(['claims', 'renamed'] as const)('never has claims that say it has already expired: %s', async (A22) => {
  const clock = manualClock('2026-01-01T00:00:00.999Z')
  const crm = await start({ clock, tokenTtl: '1ms', assume: { A22, A21: 'epoch-seconds' } })
  const { json } = await call(crm, 'POST /api/identity/auth/login', {
    body: { email: 'ada@acme.test', password: 'password' },
  })
  const { accessToken, expiresIn } = Object(json)
  const { exp } = JSON.parse(Buffer.from(accessToken.split('.')[1], 'base64url').toString())
  expect(exp).toBe(Math.floor(clock.now() / 1_000) + 1)
  expect(expiresIn).toBe(exp)
})

it('a token of one hour has whole seconds in its claims', async () => {
  const crm = await start({ clock: manualClock('2026-01-01T00:00:00.999Z') })
  const claims = JSON.parse(Buffer.from((await crm.login()).split('.')[1] ?? '', 'base64url').toString())
  expect(claims.exp - claims.iat).toBe(3_600)
  expect(claims.iat).toBe(Date.parse('2026-01-01T00:00:00Z') / 1_000)
})

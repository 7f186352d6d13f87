import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { createAccounts } from '../../tools/emulator/accounts.ts'
import { assumeAll } from '../../tools/emulator/dialects.ts'
import { type Journal, openJournal } from '../../tools/emulator/journal.ts'
import { createTokens } from '../../tools/emulator/tokens.ts'
import { makeDatabase } from './support.ts'

describe('a token', () => {
  const ACCOUNT = { key: 'one', email: 'one@test', password: 'pw' }

  function make({ assume = {}, journal = openJournal() }: Options = {}) {
    const clock = manualClock('2026-01-01T00:00:00.400Z')
    const accounts = createAccounts(openJournal())
    accounts.add(ACCOUNT)
    accounts.add({ ...ACCOUNT, key: 'two', email: 'two@test' })
    const assumed = assumeAll('default', assume)
    return { clock, accounts, tokens: createTokens({ clock, accounts, journal, ttlMs: 90_500, assumed }) }
  }
  interface Options {
    readonly assume?: Readonly<Record<string, string>>
    readonly journal?: Journal
  }

  it.each(['claims', 'renamed', 'opaque'])('leads to its account, whatever its form: %s (A22)', async (A22) => {
    const { tokens } = make({ assume: { A22 } })
    const { accessToken } = await tokens.issue(ACCOUNT)
    expect(await tokens.resolve(`Bearer ${accessToken}`)).toEqual({ account: ACCOUNT, token: accessToken })
    expect(accessToken.startsWith('opaque_')).toBe(A22 === 'opaque')
    expect((await tokens.issue(ACCOUNT)).accessToken).not.toBe(accessToken)
  })

  it.each([
    ['claims', { sub: 'one@test', accountKey: 'one', iat: 1_767_225_600, exp: 1_767_225_691, jti: expect.any(String) }],
    ['renamed', { user: 'one@test', tenant: 'one', exp: 1_767_225_691, jti: expect.any(String) }],
  ])('has the claims of its form: %s (A22)', async (A22, claims) => {
    const { accessToken } = await make({ assume: { A22 } }).tokens.issue(ACCOUNT)
    expect(JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())).toEqual(claims)
  })

  it.each([
    ['seconds', 90.5],
    ['milliseconds', 90_500],
    ['epoch-seconds', 1_767_225_691],
    ['epoch-milliseconds', 1_767_225_690_900],
  ])('expires as told in %s (A21)', async (A21, expiresIn) => {
    expect(await make({ assume: { A21 } }).tokens.issue(ACCOUNT)).toMatchObject({ expiresIn })
  })

  it('is read from a header in any case and with any blanks before it', async () => {
    const { tokens } = make()
    const { accessToken } = await tokens.issue(ACCOUNT)
    for (const header of [`bearer ${accessToken}`, `BEARER   ${accessToken}`])
      expect(await tokens.resolve(header)).toMatchObject({ account: ACCOUNT })
    for (const header of [undefined, '', 'Bearer', 'Bearer ', accessToken, `Basic ${accessToken}`])
      expect(await tokens.resolve(header)).toBe('the request carries no bearer token')
    for (const header of [`Bearer ${accessToken} x`, `x Bearer ${accessToken}`, `Bearer${accessToken}`])
      expect(await tokens.resolve(header)).toBe('the request carries no bearer token')
  })

  it('that nobody issued is refused', async () => {
    const { tokens } = make()
    const { accessToken } = await make().tokens.issue(ACCOUNT)
    const unsigned = `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${accessToken.split('.')[1]}.`
    for (const token of [accessToken, unsigned, 'x', 'opaque_', `opaque_${accessToken}`, `${accessToken}opaque_`])
      expect(await tokens.resolve(`Bearer ${token}`)).toBe('the token is invalid')
  })

  it('is refused from the millisecond of its expiry on, and once its account is gone', async () => {
    const { tokens, clock, accounts } = make()
    const { accessToken } = await tokens.issue(ACCOUNT)
    await clock.advance(90_499)
    expect(await tokens.resolve(`Bearer ${accessToken}`)).toMatchObject({ account: ACCOUNT })
    accounts.clear()
    expect(await tokens.resolve(`Bearer ${accessToken}`)).toBe('the account of the token does not exist')
    await clock.advance(1)
    expect(await tokens.resolve(`Bearer ${accessToken}`)).toBe('the token has expired')
  })

  it('is valid for every service on the same journal', async () => {
    const database = makeDatabase()
    const journal = openJournal(database)
    journal.save('meta', 'another entry', 'x')
    const { accessToken } = await make({ journal }).tokens.issue(ACCOUNT)
    const [one, two] = [make({ journal }), make({ journal })]
    for (const { tokens } of [one, two])
      expect(await tokens.resolve(`Bearer ${accessToken}`)).toMatchObject({ account: ACCOUNT })
    expect(journal.load('meta')).toHaveLength(2)
  })
})

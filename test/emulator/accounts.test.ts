import { expect, it } from 'vitest'
import { Accounts } from '../../src/emulator/accounts.ts'
import { openJournal } from '../../src/emulator/journal.ts'

const make = (key: string) => ({ key, email: `${key}@test`, password: `of ${key}` })
const refusal = (kind: string) => expect.objectContaining({ kind })

it('an account is found by its key, and by its e-mail address with its own password', () => {
  const accounts = new Accounts(openJournal())
  expect(() => accounts.get(undefined)).toThrow(refusal('unknown'))
  const [one, two] = [accounts.add(make('one')), accounts.add(make('two'))]
  expect(accounts.list()).toEqual([one, two])
  expect([accounts.get(undefined), accounts.get('two')]).toEqual([one, two])
  expect([accounts.find('two'), accounts.find('three')]).toEqual([two, undefined])
  expect(() => accounts.get('three')).toThrow('there is no account "three"')
  expect(accounts.findByLogin('two@test', 'of two')).toBe(two)
  expect(accounts.findByLogin('two@test', 'of one')).toBeUndefined()
  expect(accounts.findByLogin('three@test', 'of two')).toBeUndefined()
  accounts.clear()
  expect(accounts.list()).toEqual([])
})

it('no two accounts have one key or one user', () => {
  const accounts = new Accounts(openJournal())
  accounts.add(make('one'))
  accounts.add(make('two'))
  expect(() => accounts.add({ ...make('three'), key: 'one' })).toThrow(refusal('exists'))
  expect(() => accounts.add({ ...make('three'), email: 'two@test' })).toThrow('with the user two@test')
  expect(accounts.list()).toHaveLength(2)
})

it('an account with a user of another one is refused, and does not change', () => {
  const accounts = new Accounts(openJournal())
  const [one, two] = [accounts.add(make('one')), accounts.add(make('two'))]
  expect(() => accounts.seed({ ...two, email: one.email })).toThrow(refusal('exists'))
  expect(accounts.list()).toEqual([one, two])
})

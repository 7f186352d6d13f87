import { expect, it } from 'vitest'
import { Accounts } from '../../tools/emulator/accounts.ts'
import { openJournal } from '../../tools/emulator/journal.ts'

const make = (key: string) => ({ key, email: `${key}@test`, password: `of ${key}` })
const refusal = (kind: string) => expect.objectContaining({ kind })

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

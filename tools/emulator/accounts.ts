import { findNearest } from '../../src/protocol/nearest.ts'
import type { Journal } from './journal.ts'
import { Refusal } from './refusal.ts'

/** Account of the service, a tenant, with its only user. */
export interface Account {
  readonly key: string
  readonly email: string
  readonly password: string
}

export const SEEDED_ACCOUNTS: readonly Account[] = [
  { key: 'acme', email: 'ada@acme.test', password: 'password' },
  { key: 'globex', email: 'gus@globex.test', password: 'password' },
]

export type Accounts = ReturnType<typeof createAccounts>

export function createAccounts(journal: Journal) {
  const byKey = new Map(journal.load<Account>('account').map(({ id, value }) => [id, value]))
  const list = (): readonly Account[] => [...byKey.values()]
  /** Adds an account, or replaces its user and password with those of this start. */
  const seed = (account: Account): Account => {
    const { key, email } = account
    if (list().some((other) => other.key !== key && other.email === email))
      throw new Refusal('exists', `there is an account with the user ${email} already`)
    journal.save('account', key, account)
    byKey.set(key, account)
    return account
  }
  return {
    list,
    seed,
    add(account: Account): Account {
      if (byKey.has(account.key)) throw new Refusal('exists', `there is an account ${account.key} already`)
      return seed(account)
    },
    /** Returns the account with that key; the first account if none is given. */
    get(key: string | undefined): Account {
      const account = key === undefined ? list()[0] : byKey.get(key)
      if (account === undefined) {
        const meant = findNearest(String(key), byKey.keys())
        throw new Refusal(
          'unknown',
          `there is no account ${JSON.stringify(key)}${meant ? `; did you mean ${meant}?` : ''}`,
        )
      }
      return account
    },
    find: (key: string): Account | undefined => byKey.get(key),
    findByLogin: (email: string, password: string): Account | undefined =>
      list().find((account) => account.email === email && account.password === password),
    clear: () => byKey.clear(),
  }
}

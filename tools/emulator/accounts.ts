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

export class Accounts {
  readonly #byKey = new Map<string, Account>()
  readonly #journal: Journal

  constructor(journal: Journal) {
    this.#journal = journal
    for (const { id, value } of journal.load<Account>('account')) this.#byKey.set(id, value)
  }

  list(): readonly Account[] {
    return [...this.#byKey.values()]
  }

  /** Returns the account with that key; the first account if none is given. */
  get(key: string | undefined): Account {
    const account = key === undefined ? this.list()[0] : this.#byKey.get(key)
    if (account === undefined) throw new Refusal('unknown', `there is no account ${JSON.stringify(key)}`)
    return account
  }

  find(key: string): Account | undefined {
    return this.#byKey.get(key)
  }

  findByLogin(email: string, password: string): Account | undefined {
    return this.list().find((account) => account.email === email && account.password === password)
  }

  /** Adds an account, or replaces its user and password with those of this start. */
  seed(account: Account): void {
    this.#mustBeFree(account)
    this.#save(account)
  }

  add(account: Account): Account {
    if (this.#byKey.has(account.key)) throw new Refusal('exists', `there is an account ${account.key} already`)
    this.#mustBeFree(account)
    return this.#save(account)
  }

  clear(): void {
    this.#byKey.clear()
  }

  #mustBeFree({ key, email }: Account): void {
    if (this.list().some((other) => other.key !== key && other.email === email))
      throw new Refusal('exists', `there is an account with the user ${email} already`)
  }

  #save(account: Account): Account {
    this.#journal.save('account', account.key, account)
    this.#byKey.set(account.key, account)
    return account
  }
}

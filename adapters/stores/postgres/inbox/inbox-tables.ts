import { toArrayLiteral } from '../encode.ts'
import type { SharedPool } from '../shared-pool.ts'
import type { Table } from '../table.ts'
import type { InboxStatements } from './statements.ts'
import { Turns } from './turns.ts'

type Rows = readonly (readonly unknown[])[]
type Pick = (statements: InboxStatements) => string

/** The tables of an inbox, which all its workers in a process share, and the turns that this process assigns. */
export class InboxTables {
  readonly #pool: SharedPool
  readonly #table: Table<InboxStatements>
  readonly #turns = new Turns()
  /**
   * True if the table has more than a few pages. An inbox is empty most of the time, and a statement that is planned then reads the table from
   * end to end: the text differs once the table is large, so that connections prepare it again.
   */
  isLarge = false

  constructor(pool: SharedPool, table: Table<InboxStatements>) {
    this.#pool = pool
    this.#table = table
  }

  readonly explain = (error: unknown): unknown => this.#table.explain(error)

  async run(pick: Pick, ...values: readonly unknown[]): Promise<Rows> {
    try {
      return await this.#pool.runOwn(await this.#find(pick), [...values])
    } catch (error) {
      throw this.explain(error)
    }
  }

  /** Runs a statement that makes items of these accounts ready, in turn. Returns the rows behind that of `next`. */
  async runInTurn(
    pick: Pick,
    accounts: readonly string[],
    toValues: (turns: string, nths: string, hint: number) => readonly unknown[],
  ): Promise<Rows> {
    const places = this.#turns.assign(accounts)
    const given = toValues(toArrayLiteral(places.turns), toArrayLiteral(places.nths), this.#turns.hint)
    const [[, next = null, now, isLarge] = [], ...rows] = await this.run(pick, ...given)
    this.isLarge = isLarge === 'true'
    this.#turns.learn(places, next === null ? undefined : Number(next), Number(now))
    return rows
  }

  async #find(pick: Pick): Promise<string> {
    const text = pick(await this.#table.statements())
    return this.isLarge ? `${text} -- large` : text
  }
}

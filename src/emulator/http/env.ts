import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import type { Account } from '../accounts.ts'
import type { RateStanding } from '../rate-limit.ts'

/** Context of a route. */
export interface Env {
  /** Absent if a request was handed over in the same process. */
  readonly Bindings: Partial<HttpBindings>
  readonly Variables: {
    /** Whose token the request carries. */
    account: Account
    rate: RateStanding
  }
}

/** Address that a request comes from. */
export function addressOf(context: Context<Env>): string {
  return context.env?.incoming?.socket.remoteAddress ?? 'this process'
}

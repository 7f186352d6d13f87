import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import type { Account } from '../accounts.ts'
import type { RateStanding } from '../rate-limit.ts'

export interface Env {
  /** Bindings of the server; absent if a request comes from the same process. */
  readonly Bindings: Partial<HttpBindings>
  readonly Variables: {
    account: Account
    rate: RateStanding
  }
}

export function addressOf(context: Context<Env>): string {
  return context.env?.incoming?.socket.remoteAddress ?? 'this process'
}

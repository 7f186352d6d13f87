import { join } from 'node:path'
import {
  createReceiver,
  type InboxItem,
  type Outcome,
  type PosternError,
  type Receiver,
  type ReceiverWorker,
  sign,
  type WebhookEvent,
  type WorkOptions,
} from 'postern'
import { openSqlite, type SqliteDatabase, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { silentLogger } from 'postern/testing'
import { expect, onTestFinished, vi } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'

export const SECRET = 'whsec_inbox'

/** Retries without a pause. */
export const AT_ONCE = { delay: () => 0 }

/** A receiver with an inbox and a store in one file, and its reports to its owner. */
export class Scene {
  readonly path: string
  readonly database: SqliteDatabase
  readonly inbox: ReturnType<typeof sqliteInbox>
  readonly receiver: Receiver
  readonly outcomes: Outcome[] = []
  readonly errors: PosternError[] = []
  readonly dead: { readonly item: InboxItem; readonly error: PosternError }[] = []

  constructor(options: Partial<Parameters<typeof createReceiver>[0]> = {}, path = makePath()) {
    this.path = path
    this.database = openSqlite(path)
    this.inbox = sqliteInbox({ database: this.database })
    this.receiver = createReceiver({
      secret: SECRET,
      leaseMs: 2_000,
      inbox: this.inbox,
      store: sqliteStore({ database: this.database }),
      onOutcome: (outcome) => void this.outcomes.push(outcome),
      onError: (error) => void this.errors.push(error),
      onDeadLetter: (item, error) => void this.dead.push({ item, error }),
      logger: silentLogger,
      ...options,
    })
    onTestFinished(async () => {
      await this.receiver.close({ timeoutMs: 0 })
      this.database.close()
    })
  }

  work(options: WorkOptions = AT_ONCE): ReceiverWorker {
    return this.receiver.work(options)
  }

  deliver(event: WebhookEvent<string, unknown>): Promise<Outcome> {
    const body = Buffer.from(JSON.stringify(event))
    return this.receiver.receive({ body, signature: sign(body, SECRET) })
  }

  /** Waits until the inbox is empty, except for dead letters. */
  async untilIdle(): Promise<void> {
    await until('the inbox is worked off', async () => {
      const { waiting, running } = await this.inbox.counts()
      return waiting + running === 0
    })
  }
}

export function makePath(): string {
  const folder = makeTestFolder()
  return join(folder, 'app.db')
}

export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await isSo(), what).toBe(true), { timeout: 240_000, interval: 5 })
}

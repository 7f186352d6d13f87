import { createReceiver, DeadLetter, type Inbox, type Store, sign, type WebhookEvent } from 'postern'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { events, silentLogger } from 'postern/testing'
import { expect } from 'vitest'
import { Gate } from '../support/gate.ts'

const SECRET = 'test-secret'

/** An event, and the error of its handler. */
export interface Unlucky {
  readonly id: string
  readonly type?: 'contact.created' | 'contact.deleted'
  readonly body?: string
  readonly error?: string
}

/** Makes dead letters in the inbox of a file, and closes the file. */
export async function makeDeadLetters(
  path: string,
  unlucky: readonly Unlucky[],
  table?: string,
  log?: (message: string) => void,
): Promise<void> {
  const database = openSqlite(path)
  const inbox = sqliteInbox({ database, ...(table !== undefined && { table }) })
  await buryAll({ inbox, store: sqliteStore({ database }) }, unlucky, log)
  database.close()
}

/** Accepts events by a real receiver, whose worker turns them into dead letters. */
export async function buryAll(
  places: { readonly inbox: Inbox; readonly store?: Store },
  unlucky: readonly Unlucky[],
  log: (message: string) => void = () => {},
): Promise<void> {
  const errors = new Map(unlucky.map(({ id, error }) => [id, error]))
  const all = new Gate()
  let dead = 0
  const receiver = createReceiver({
    secret: SECRET,
    ...places,
    logger: { ...silentLogger, error: (_fields: object, text: string) => log(text) },
    onDeadLetter: () => {
      if (++dead === unlucky.length) all.open()
    },
  })
  receiver.on('*', { name: 'audit' }, () => {})
  receiver.on('*', { name: 'crm' }, ({ id }) => {
    throw new DeadLetter(errors.get(id) ?? 'the customer does not exist')
  })
  for (const each of unlucky) {
    const body = Buffer.from(each.body ?? JSON.stringify(toEvent(each)))
    expect(await receiver.receive({ body, signature: sign(body, SECRET) })).toMatchObject({ outcome: 'accepted' })
  }
  receiver.work({ concurrency: 1 })
  await all.promise
  await receiver.close()
}

function toEvent({ id, type = 'contact.created' }: Unlucky): WebhookEvent<string, unknown> {
  const event = type === 'contact.created' ? events.contact.created() : events.contact.deleted('65f0c1')
  return { ...event, id }
}

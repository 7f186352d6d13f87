import { once } from 'node:events'
import { createReceiver, DeadLetter, sign, type WebhookEvent } from 'postern'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { events } from 'postern/testing'

const SECRET = 'test-secret'

/** An event, and what its handler throws. */
export interface Unlucky {
  readonly id: string
  readonly type?: 'contact.created' | 'contact.deleted'
  readonly body?: string
  readonly error?: string
}

/** Accepts events into the inbox of a file by a real receiver, whose worker makes dead letters of them, and closes the file. */
export async function makeDeadLetters(
  path: string,
  unlucky: readonly Unlucky[],
  table?: string,
  log: (message: string) => void = () => {},
): Promise<void> {
  const database = openSqlite(path)
  const inbox = sqliteInbox({ database, ...(table !== undefined && { table }) })
  const errors = new Map(unlucky.map(({ id, error }) => [id, error]))
  const logger = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (_fields: object, text: string) => log(text),
  }
  const told = new EventTarget()
  let dead = 0
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    store: sqliteStore({ database }),
    logger,
    onDeadLetter: () => {
      if (++dead === unlucky.length) told.dispatchEvent(new Event('all'))
    },
  })
  receiver.on('*', { name: 'audit' }, () => {})
  receiver.on('*', { name: 'crm' }, ({ id }) => {
    throw new DeadLetter(errors.get(id) ?? 'the customer does not exist')
  })
  const all = once(told, 'all')
  for (const each of unlucky) {
    const body = Buffer.from(each.body ?? JSON.stringify(toEvent(each)))
    await receiver.receive({ body, signature: sign(body, SECRET) })
  }
  receiver.work({ concurrency: 1 })
  await all
  await receiver.close()
  database.close()
}

function toEvent({ id, type = 'contact.created' }: Unlucky): WebhookEvent<string, unknown> {
  const event = type === 'contact.created' ? events.contact.created() : events.contact.deleted('65f0c1')
  return { ...event, id }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReceiver, type Logger } from 'postern'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { remark } from './show.ts'

/**
 * A receiver with an inbox: it answers once an event is on disk, and its worker runs the handlers later. The file represents an app's
 * `data/app.db`, and is removed with the receiver.
 */
export function openInbox(secret: () => string | undefined, importList: (id: string) => Promise<void>, logger: Logger) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-start-'))
  const database = openSqlite(join(folder, 'app.db'))
  const inbox = sqliteInbox({ database })
  const receiver = createReceiver({
    secret,
    logger,
    inbox,
    store: sqliteStore({ database }),
    onDeadLetter: (_item, error) => remark(error.message),
  }).on('import.completed', ({ id }) => importList(id))
  receiver.work()
  const close = async () => {
    await receiver.close()
    database.close()
    rmSync(folder, { recursive: true })
  }
  return { receiver, inbox, close }
}

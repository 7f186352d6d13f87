import { createReceiver } from 'postern'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { silentLogger } from 'postern/testing'
import { onTestFinished } from 'vitest'
import type { Unlucky } from './make-dead-letters.ts'
import { readLines, runCli } from './run-cli.ts'

/** Returns so many events, evt_0, evt_1 and so on. */
export function many(count: number, fields: Partial<Unlucky> = {}): readonly Unlucky[] {
  return Array.from({ length: count }, (_, index): Unlucky => ({ id: `evt_${index}`, ...fields }))
}

/** The counts of an empty inbox, as JSON. */
export const NO_COUNTS = {
  ...{ waiting: 0, running: 0, dead: 0, oldestDueAt: null },
  ...{ parked: 0, oldestParkedAt: null, countedTo: 10_000 },
}

/** The key of an event of the account acme. */
export const keyOf = (id: string) => `7:default4:acme${id.length}:${id}`

/** Reads the counts of the inbox of a file by the command line. */
export async function readCounts(file: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  return readLines((await runCli(['inbox', 'counts', '--sqlite', file, '--json'])).stdout)[0]
}

/** Starts a worker, and records the events that it runs. */
export function work(file: string, handle: () => void): readonly string[] {
  const database = openSqlite(file)
  const options = { inbox: sqliteInbox({ database }), store: sqliteStore({ database }) }
  const receiver = createReceiver({ secret: 'test-secret', logger: silentLogger, ...options })
  const runs: string[] = []
  receiver.on('*', { name: 'crm' }, ({ id }) => {
    runs.push(id)
    handle()
  })
  receiver.work()
  onTestFinished(async () => {
    await receiver.close()
    database.close()
  })
  return runs
}

import { fileURLToPath } from 'node:url'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { afterEach, describe } from 'vitest'
import { itOutlivesItsWorkers } from '../../inbox-scene.ts'
import { killWorkers, startWorker } from '../start-worker.ts'
import { drivers } from './drivers.ts'
import { closing, makeFolder } from './folder.ts'

const WORKER = fileURLToPath(new URL('inbox-worker.ts', import.meta.url))
const fileOf = makeFolder()
let files = 0
afterEach(killWorkers)

describe.each(drivers)('sqliteInbox on %s, and processes that die', (driver) => {
  itOutlivesItsWorkers(() => {
    const path = fileOf(`${files++}.db`)
    const database = closing(openSqlite(path, { driver }))
    return {
      inbox: sqliteInbox({ database }),
      startWorker: () => startWorker(WORKER, path, driver, '10'),
      runsOf({ id }) {
        const runs = database.prepare('SELECT beside FROM runs WHERE event = ?').all(id)
        return runs.map(({ beside }) => ({ beside: Number(beside) }))
      },
    }
  })
})

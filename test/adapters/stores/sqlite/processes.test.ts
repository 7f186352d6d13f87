import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openSqlite } from 'postern/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { killWorkers, startWorker } from '../start-worker.ts'
import { drivers } from './drivers.ts'
import { makeFolder } from './folder.ts'

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))
const COUNT = 150
const fileOf = makeFolder()
afterAll(killWorkers)

describe.each(drivers)('four processes on one file, by %s', (driver) => {
  it('handle each event exactly once, even if some are killed in the middle of their commits', async () => {
    const path = fileOf(`${driver.replace(':', '-')}.db`)
    const start = () => startWorker(WORKER, path, driver, String(COUNT))
    // All start at the same time on a file that does not exist yet.
    const workers = await Promise.all([start(), start(), start(), start()])
    for (const { go } of workers) go()
    const [first, second] = workers
    for (const victim of [first, second]) {
      const enough = victim === first ? 10 : 40
      while ((victim?.acknowledged.length ?? enough) < enough) await sleep(2)
      victim?.child.kill('SIGKILL')
      expect(await victim?.closed).toMatchObject({ signal: 'SIGKILL' })
    }
    const late = await start()
    late.go()
    for (const { closed } of [...workers.slice(2), late])
      expect(await closed).toEqual({ code: 0, signal: null, stderr: '' })

    const database = openSqlite(path, { driver })
    try {
      expect(database.pragma('integrity_check')).toMatchObject([{ integrity_check: 'ok' }])
      const effects = database.prepare('SELECT event, count(*) AS times FROM effects GROUP BY event').all()
      expect(effects).toHaveLength(COUNT)
      expect(effects.filter(({ times }) => times !== 1)).toEqual([])
      const undone = database.prepare('SELECT key FROM postern_events WHERE is_done = 0').all()
      expect(undone).toEqual([])
      const pids = database.prepare('SELECT DISTINCT pid FROM effects').all()
      expect(pids.length).toBeGreaterThan(1)
      // Everything that the killed process had acknowledged is there.
      const known = new Set(effects.map(({ event }) => event))
      for (const { acknowledged } of [...workers, late]) for (const id of acknowledged) expect(known).toContain(id)
    } finally {
      database.close()
    }
  })
})

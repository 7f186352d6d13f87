import type { SqliteDriver } from 'postern/sqlite'
import { DRIVERS } from '../../../../adapters/stores/sqlite/drivers.ts'

const HOW_TO = 'NODE_PATH=$(node scripts/better-sqlite3.mjs) leads to a compiled better-sqlite3'

/** The drivers that run on this Node. A missing one is reported in a line, or is an error with REQUIRE_ENGINES=1. */
export const drivers: readonly SqliteDriver[] = findDrivers()

function findDrivers(): readonly SqliteDriver[] {
  const found: SqliteDriver[] = []
  const missing: string[] = []
  for (const [driver, load] of Object.entries(DRIVERS)) {
    const opener = load()
    if (typeof opener !== 'string')
      found.push(driver as SqliteDriver) // the keys of a record are its own type's
    else if (driver !== 'node:sqlite') missing.push(`${driver} ${opener}`)
  }
  if (missing.length > 0) {
    const told = `${missing.join('; ')}: its tests are skipped. ${HOW_TO}.`
    if (process.env.REQUIRE_ENGINES === '1') throw new Error(`${told} REQUIRE_ENGINES=1 allows none to be skipped.`)
    console.log(told)
  }
  return found
}

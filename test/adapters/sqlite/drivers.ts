import type { SqliteDriver } from 'postern/sqlite'
import { DRIVERS } from '../../../adapters/sqlite/drivers.ts'

/** The drivers that run on this Node. better-sqlite3 is there where NODE_PATH leads to it: it has to be compiled. */
export const drivers: readonly SqliteDriver[] = (Object.keys(DRIVERS) as SqliteDriver[]).filter(
  (driver) => typeof DRIVERS[driver]() !== 'string',
)

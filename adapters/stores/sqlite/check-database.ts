import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigurationError } from '../../../src/index.ts'
import type { SqliteDatabase } from './database.ts'

/** Network file systems, by Linux's number for them. Processes on two machines share neither locks nor memory there. */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x5346414f, 'AFS'],
  [0xc36400, 'Ceph'],
])

/**
 * Refuses a database that could not keep a store's data: one in memory, or on a file system without reliable locks. Sets the file to
 * write-ahead logging, which lets several processes use it concurrently.
 *
 * @param owner the function that was given it, for messages
 * @param insteadOfFile what can be done without a file, for the message about one that is in memory
 * @returns the file's path
 * @throws ConfigurationError `database_unusable`
 */
export function checkDatabase(database: SqliteDatabase, owner: string, insteadOfFile = ''): string {
  const file = database.pragma('database_list').find(({ name }) => name === 'main')?.file
  if (typeof file !== 'string' || file === '')
    throw new ConfigurationError(
      'database_unusable',
      `${owner} was given a database in memory, which would lose every event when the process ends. Give a file: openSqlite("data/app.db")${insteadOfFile}.`,
    )
  refuseNetwork(file, typeOf(file), owner)
  const mode = database.pragma('journal_mode = WAL')[0]?.journal_mode
  if (mode !== 'wal')
    throw new ConfigurationError(
      'database_unusable',
      `${owner} cannot use ${file}: it cannot use write-ahead logging (WAL); its journal mode is ${String(mode)}. Put the file on a local disk, and open it without a custom VFS.`,
    )
  return file
}

/** @param type the number of its file system, undefined if it is not known */
export function refuseNetwork(file: string, type: number | undefined, owner: string): void {
  const name = type === undefined ? undefined : NETWORK.get(type)
  if (name === undefined) return
  throw new ConfigurationError(
    'database_unusable',
    `${owner} cannot use ${file}: it is on a network file system (${name}), where SQLite's locks do not hold. Put the file on a local disk; for several machines use a store on a server.`,
  )
}

function typeOf(file: string): number | undefined {
  try {
    return Number(statfsSync(dirname(file)).type) >>> 0
  } catch {
    return undefined // not on this platform
  }
}

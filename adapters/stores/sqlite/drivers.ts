import { createRequire } from 'node:module'
import type { SqliteConnection, SqliteDriver } from './database.ts'

/** An installed driver: opens a file, or throws the driver's error. */
export type Opener = (path: string) => SqliteConnection

/** Not an import: a driver that is not installed must not keep the module from loading, and no driver belongs in a bundle. */
const require = createRequire(import.meta.url)

interface Constructors {
  readonly DatabaseSync: new (path: string) => SqliteConnection
}

/** Drivers in the order in which they are tried. Each returns an opener, or the reason why it is not available. */
export const DRIVERS: Readonly<Record<SqliteDriver, () => Opener | string>> = {
  'node:sqlite': () => {
    const builtin = process.getBuiltinModule?.('node:sqlite') as Constructors | undefined // @types/node 20 does not know it
    if (builtin === undefined)
      return `Node ${process.versions.node} has none without a flag; Node 22.13 and later have one`
    return (path) => new builtin.DatabaseSync(path)
  },
  'better-sqlite3': () =>
    attempt(() => {
      const { version }: { readonly version: string } = require('better-sqlite3/package.json')
      return refuseCrash(version, process.versions.node) ?? toOpener(require('better-sqlite3'))
    }, '; `npm rebuild better-sqlite3` builds it for this Node'),
  libsql: () => attempt(() => toOpener(require('libsql'))),
}

/** better-sqlite3 13 and later are built against Node 22: on Node 20 loading them ends the process, and no error can be caught. */
export function refuseCrash(version: string, nodeVersion: string): string | undefined {
  if (Number.parseInt(version, 10) < 13 || Number.parseInt(nodeVersion, 10) >= 22) return undefined
  return `version ${version} crashes the process on Node ${nodeVersion}; install better-sqlite3@12, or use Node 22`
}

function toOpener(Database: new (path: string) => SqliteConnection): Opener {
  // better-sqlite3 looks for its binary at the first connection: it may be missing, or built for another version of Node.
  new Database(':memory:').close()
  return (path) => new Database(path)
}

function attempt(load: () => Opener | string, remedy = ''): Opener | string {
  try {
    return load()
  } catch (error) {
    const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown } // anything can be thrown
    if (code === 'MODULE_NOT_FOUND') return 'is not installed'
    return `cannot be loaded: ${String(message).split('\n')[0]}${remedy}`
  }
}

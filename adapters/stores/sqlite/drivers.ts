import type { SqliteConnection, SqliteDriver } from './database.ts'

/** An installed driver: opens a file, or throws the driver's error. */
export type Opener = (path: string) => SqliteConnection

/**
 * Loads a driver. Not an import: one that is not installed must not keep the module from loading, and none belongs in a bundle. A bundle
 * may not know its own path, or have moved since it was built: then the working directory counts.
 */
function load(name: string): unknown {
  const { createRequire } = process.getBuiltinModule('node:module')
  const inFolder = createRequire(`${process.cwd()}/`)
  const { url }: { readonly url?: string } = import.meta // none in a bundle of CommonJS
  if (url === undefined) return inFolder(name)
  const inPackage = createRequire(url)
  try {
    inPackage.resolve(name)
  } catch {
    return inFolder(name)
  }
  return inPackage(name)
}

type Driver = new (path: string) => SqliteConnection

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
      const { version } = load('better-sqlite3/package.json') as { readonly version: string } // as every package.json has
      return refuseCrash(version, process.versions.node) ?? toOpener(load('better-sqlite3') as Driver) // what it exports
    }, '; `npm rebuild better-sqlite3` builds it for this Node'),
  libsql: () => attempt(() => toOpener(load('libsql') as Driver)), // what it exports
}

/** better-sqlite3 13 and later are built against Node 22: on Node 20 loading them ends the process, and no error can be caught. */
export function refuseCrash(version: string, nodeVersion: string): string | undefined {
  if (Number.parseInt(version, 10) < 13 || Number.parseInt(nodeVersion, 10) >= 22) return undefined
  return `version ${version} crashes the process on Node ${nodeVersion}; install better-sqlite3@12, or use Node 22`
}

function toOpener(Database: Driver): Opener {
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

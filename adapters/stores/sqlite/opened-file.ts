import { statSync } from 'node:fs'
import { PosternError } from '../../../src/engine.ts'

/**
 * Returns a check for whether the file of a connection, or its log, was deleted or replaced. Commits would succeed, into files that nobody
 * will read. The check throws `store_unavailable` until the files are back at their paths.
 */
export function watchFile(path: string): () => void {
  const opened = identify(path)
  /** The write-ahead log, once it was seen: SQLite keeps it while a connection is open. */
  let known = identify(`${path}-wal`)
  return () => {
    const log = identify(`${path}-wal`)
    known ??= log
    if (identify(path) === opened && log === known) return
    throw new PosternError(
      'store_unavailable',
      `The SQLite database cannot be used: ${path} was deleted or replaced while it was open. Restart the app.`,
    )
  }
}

function identify(path: string): string | undefined {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false })
  return file && `${file.dev}:${file.ino}`
}

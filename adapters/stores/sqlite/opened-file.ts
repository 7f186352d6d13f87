import { statSync } from 'node:fs'
import { PosternError } from '../../../src/index.ts'

/** Notices that the file of a connection, or its log, was deleted or replaced. Commits would succeed, into files that nobody will read. */
export class OpenedFile {
  readonly #path: string
  readonly #opened: string | undefined
  /** The write-ahead log, once it was seen: SQLite keeps it while a connection is open. */
  #log: string | undefined

  constructor(path: string) {
    this.#path = path
    this.#opened = identify(path)
  }

  /** @throws PosternError `store_unavailable` until the files are back at their paths */
  check(): void {
    const log = identify(`${this.#path}-wal`)
    this.#log ??= log
    if (identify(this.#path) === this.#opened && log === this.#log) return
    throw new PosternError(
      'store_unavailable',
      `The SQLite database cannot be used: ${this.#path} was deleted or replaced while it was open. Restart the app.`,
    )
  }
}

function identify(path: string): string | undefined {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false })
  return file && `${file.dev}:${file.ino}`
}

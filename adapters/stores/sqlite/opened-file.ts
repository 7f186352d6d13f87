import { statSync } from 'node:fs'
import { PosternError } from '../../../src/index.ts'

/** The time between two comparisons, in milliseconds. */
const COMPARE_EVERY_MS = 1_000

/** Notices that the file of a connection was deleted or replaced. Writes would succeed, into a file that nobody will read. */
export class OpenedFile {
  readonly #path: string
  readonly #opened: string | undefined
  #comparedAt = performance.now()

  constructor(path: string) {
    this.#path = path
    this.#opened = identify(path)
  }

  /** @throws PosternError `store_unavailable` until the file is back at its path */
  check(): void {
    const now = performance.now()
    if (now - this.#comparedAt < COMPARE_EVERY_MS) return
    if (identify(this.#path) !== this.#opened)
      throw new PosternError(
        'store_unavailable',
        `The SQLite database cannot be used: ${this.#path} was deleted or replaced while it was open. Restart the app.`,
      )
    this.#comparedAt = now
  }
}

function identify(path: string): string | undefined {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false })
  return file && `${file.dev}:${file.ino}`
}

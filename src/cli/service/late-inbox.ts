import { stat } from 'node:fs/promises'
import type { InboxView } from '../../emulator/emulator.ts'
import type { InboxState, ListOptions } from '../../inbox/inbox.ts'
import { PosternError } from '../../protocol/errors.ts'
import { type InboxOptions, type OpenedInbox, openInboxOf } from './inbox-options.ts'

/**
 * An inbox that need not exist yet, and may disappear: it is opened at the first question. Its connection stays until the engine fails,
 * or until another file has the name of the database, as after a developer deleted it.
 */
export class LateInbox implements InboxView, AsyncDisposable {
  readonly #options: InboxOptions
  #connected: Promise<OpenedInbox> | undefined
  /** The file that is open, as opposed to its name. */
  #file: string | undefined

  constructor(options: InboxOptions) {
    this.#options = options
  }

  counts() {
    return this.#ask((inbox) => inbox.counts())
  }

  list(state: InboxState, options?: ListOptions) {
    return this.#ask((inbox) => inbox.list(state, options))
  }

  get(key: string) {
    return this.#ask((inbox) => inbox.get(key))
  }

  replay(key: string) {
    return this.#ask((inbox) => inbox.replay(key))
  }

  drop(key: string) {
    return this.#ask((inbox) => inbox.drop(key))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const connected = this.#connected
    this.#connected = undefined
    const opened = await connected?.catch(() => undefined)
    await opened?.[Symbol.asyncDispose]()
  }

  async #ask<T>(question: (inbox: InboxView) => Promise<T>): Promise<T> {
    const { sqlite } = this.#options
    const file = sqlite === undefined ? undefined : await identify(sqlite)
    if (file !== this.#file) {
      this.#file = file
      await this[Symbol.asyncDispose]()
    }
    // Without waiting for a lock: that would keep the emulator from its deliveries.
    this.#connected ??= openInboxOf(this.#options, 0)
    const connected = this.#connected
    try {
      return await question((await connected).inbox)
    } catch (error) {
      const isOfCaller = error instanceof PosternError && error.code === 'option_invalid'
      if (this.#connected === connected && !isOfCaller) await this[Symbol.asyncDispose]()
      throw error
    }
  }
}

/** Returns the identity of a file, whose inode number alone may be that of a deleted one. */
async function identify(path: string): Promise<string> {
  try {
    const { dev, ino, birthtimeMs } = await stat(path)
    return `${dev}:${ino}:${birthtimeMs}`
  } catch {
    return 'none'
  }
}

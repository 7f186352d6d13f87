import type { InboxView } from '../../emulator/emulator.ts'
import type { InboxState, ListOptions } from '../../inbox/inbox.ts'
import { PosternError } from '../../protocol/errors.ts'
import { type InboxOptions, type OpenedInbox, openInboxOf } from './inbox-options.ts'

/**
 * An inbox that need not be there yet, and may go away: it is opened when something is asked of it. A file is opened each time, since
 * it may have been deleted and made anew; a connection stays until the engine fails.
 */
export class LateInbox implements InboxView, AsyncDisposable {
  readonly #options: InboxOptions
  #connected: Promise<OpenedInbox> | undefined

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
    if (this.#options.sqlite !== undefined) {
      // Without waiting for a lock: that would keep the emulator from its deliveries.
      await using opened = await openInboxOf(this.#options, 0)
      return await question(opened.inbox)
    }
    this.#connected ??= openInboxOf(this.#options)
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

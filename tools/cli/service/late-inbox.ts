import { stat } from 'node:fs/promises'
import type { InboxState, ListOptions } from '../../../src/inbox/inbox.ts'
import { PosternError } from '../../../src/protocol/errors.ts'
import type { InboxView } from '../../emulator/emulator.ts'
import { type ConnectedInbox, type Env, type InboxOptions, openInboxOf } from './inbox-options.ts'

/** An inbox that is opened at the first call, and again after the engine has failed or its file was replaced. */
export class LateInbox implements InboxView, AsyncDisposable {
  readonly #options: InboxOptions
  readonly #env: Env
  #connected: Promise<ConnectedInbox> | undefined
  /** Identity of the open file. */
  #file: string | undefined

  /** @param env with the keys of a sealed inbox */
  constructor(options: InboxOptions, env: Env = {}) {
    this.#options = options
    this.#env = env
  }

  readonly counts = () => this.#ask((inbox) => inbox.counts())
  readonly list = (state: InboxState, options?: ListOptions) => this.#ask((inbox) => inbox.list(state, options))
  readonly get = (key: string) => this.#ask((inbox) => inbox.get(key))
  readonly replay = (key: string) => this.#ask((inbox) => inbox.replay(key))
  readonly drop = (key: string) => this.#ask((inbox) => inbox.drop(key))

  async [Symbol.asyncDispose](): Promise<void> {
    const connected = this.#connected
    this.#connected = undefined
    const opened = await connected?.catch(() => undefined)
    await opened?.[Symbol.asyncDispose]()
  }

  async #ask<T>(question: (inbox: InboxView) => Promise<T>): Promise<T> {
    const file = await identify(this.#options.sqlite)
    if (file !== this.#file) {
      this.#file = file
      await this[Symbol.asyncDispose]()
    }
    // Does not wait for a lock, which would delay the emulator's deliveries.
    this.#connected ??= openInboxOf(this.#options, this.#env, 0)
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

/** Identifies a file; undefined if there is none. An inode number alone may be reused. */
async function identify(path: string | undefined): Promise<string | undefined> {
  const found = path === undefined ? undefined : await stat(path).catch(() => undefined)
  return found && `${found.dev}:${found.ino}:${found.birthtimeMs}`
}

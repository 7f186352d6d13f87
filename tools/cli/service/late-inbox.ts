import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { InboxView } from '../../emulator/emulator.ts'
import { messageOf } from '../io.ts'
import {
  type Env,
  type InboxOptions,
  listInboxOptions,
  type OpenInbox,
  openExisting,
  writeInboxOptions,
} from './inbox-options.ts'

/**
 * Creates an inbox that is opened at the first call, and again after a call has failed or its file was replaced.
 *
 * @param env with the keys of a sealed inbox
 */
export function createLateInbox(options: InboxOptions, env: Env = {}): InboxView & AsyncDisposable {
  let opening: Promise<OpenInbox> | undefined
  let openFile: string | undefined
  const { sqlite } = options
  // As the engine writes it, once it is open.
  let commandOptions = listInboxOptions({ ...options, ...(sqlite !== undefined && { sqlite: resolve(sqlite) }) })
  const close = async () => {
    const closing = opening
    opening = undefined
    const inbox = await closing?.catch(() => undefined)
    await inbox?.[Symbol.asyncDispose]()
  }
  const ask = async <T>(question: (inbox: InboxView) => Promise<T>): Promise<T> => {
    const file = await identify(sqlite)
    if (file !== openFile) {
      openFile = file
      await close()
    }
    // Does not wait for a lock, which would delay the emulator's deliveries.
    opening ??= openExisting(options, env, 0)
    const asked = opening
    try {
      const inbox = await asked
      commandOptions = inbox.commandOptions ?? commandOptions
      return await question(inbox)
    } catch (error) {
      if (opening === asked) await close()
      throw error
    }
  }
  return {
    get commandOptions() {
      return commandOptions
    },
    counts: () => ask((inbox) => inbox.counts()),
    list: (state, page) => ask((inbox) => inbox.list(state, page)),
    get: (key) => ask((inbox) => inbox.get(key)),
    replay: (key) => ask((inbox) => inbox.replay(key)),
    drop: (key) => ask((inbox) => inbox.drop(key)),
    [Symbol.asyncDispose]: close,
  }
}

/** Returns the place of an inbox, and how many events it holds, or why it cannot be read. */
export async function describeInbox(options: InboxOptions): Promise<string> {
  await using inbox = createLateInbox(options)
  const where = writeInboxOptions(options).replace(/^--/, '')
  try {
    const { waiting, running, dead } = await inbox.counts()
    return `${where}   ${waiting} waiting, ${running} running, ${dead} dead`
  } catch (error) {
    return `${where}   not there yet: ${messageOf(error)}`
  }
}

/** Identifies a file; undefined if there is none. An inode number alone may be reused. */
async function identify(path: string | undefined): Promise<string | undefined> {
  const found = path === undefined ? undefined : await stat(path).catch(() => undefined)
  return found && `${found.dev}:${found.ino}:${found.birthtimeMs}`
}

import type { Io } from '../../tools/cli/io.ts'
import { Written } from '../support/written.ts'

export interface IoSetting {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly isTTY?: boolean
  /** False if there is no terminal to ask at. Default true. */
  readonly hasKeys?: boolean
  readonly interrupt?: AbortSignal
  readonly isJson?: boolean
}

/** Process of a command, with its output. */
export interface TestIo {
  readonly io: Io
  readonly written: Written
  interrupt(): void
  /** Writes as at a terminal. */
  press(key: string): void
  /** Number of listeners to keys. */
  readonly listenerCount: number
}

export function createTestIo({ env = {}, stdin = '', isTTY = false, ...setting }: IoSetting = {}): TestIo {
  const written = new Written()
  const to = (name: 'stdout' | 'stderr') => ({
    isTTY,
    write: (text: string, callback?: () => void) => {
      written.add(name, text)
      callback?.()
    },
  })
  async function* read() {
    yield Buffer.from(stdin)
  }
  const stop = new AbortController()
  const listeners = new Set<(key: string) => void>()
  const io: Io = {
    env,
    isJson: setting.isJson === true,
    stdin: read(),
    stdout: to('stdout'),
    stderr: to('stderr'),
    interrupt: AbortSignal.any([stop.signal, ...(setting.interrupt ? [setting.interrupt] : [])]),
    ...(setting.hasKeys !== false && {
      listenToKeys: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }),
  }
  return {
    io,
    written,
    interrupt: () => stop.abort(),
    press: (key) => {
      for (const listener of listeners) listener(key)
    },
    get listenerCount() {
      return listeners.size
    },
  }
}

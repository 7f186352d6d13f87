import { run } from '../../src/cli/run.ts'
import { SECRET } from '../check/faulty/hand-written.ts'
import { Written } from '../support/written.ts'

interface Setting {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly isTTY?: boolean
  /** False if there is no terminal to ask at. Default true. */
  readonly hasKeys?: boolean
  readonly interrupt?: AbortSignal
}

/** Runs one command line in this process, and returns its exit code and its output. */
export async function runCli(args: readonly string[], setting: Setting = {}) {
  const running = startCli(args, setting)
  const code = await running.exitCode
  return { code, stdout: running.stdout, stderr: running.stderr }
}

/** A running command line in this process. */
export interface RunningCli {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: Promise<number>
  /** Waits until one of the streams contains the text; rejects if the command ends without it. */
  until(pattern: RegExp): Promise<void>
  interrupt(): void
  /** Writes as at a terminal. */
  press(key: string): void
}

export function startCli(args: readonly string[], setting: Setting = {}): RunningCli {
  const { env = { WEBHOOK_SECRET: SECRET }, stdin = '', isTTY = false } = setting
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
  const exitCode = run(args, {
    env,
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
  })
  return {
    exitCode,
    get stdout() {
      return written.stdout
    },
    get stderr() {
      return written.stderr
    },
    until: (pattern) => written.until(pattern, exitCode),
    interrupt: () => stop.abort(),
    press: (key) => {
      for (const listener of listeners) listener(key)
    },
  }
}

/** Parses the lines of an NDJSON stream. */
export function readLines(text: string): readonly Readonly<Record<string, unknown>>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

import { expect } from 'vitest'
import { run } from '../../tools/cli/run.ts'
import { SECRET } from '../check/faulty/hand-written.ts'
import { createTestIo, type IoSetting } from './test-io.ts'

/** A command line: its words, or text with a blank between each two of them. */
export type Line = string | readonly string[]

/** Runs one command line in this process, and returns its exit code and its output. */
export async function runCli(args: Line, setting: IoSetting = {}) {
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

export function startCli(args: Line, setting: IoSetting = {}): RunningCli {
  const { io, written, interrupt, press } = createTestIo({ env: { WEBHOOK_SECRET: SECRET }, ...setting })
  const exitCode = run(typeof args === 'string' ? args.split(' ') : args, io)
  return {
    exitCode,
    get stdout() {
      return written.stdout
    },
    get stderr() {
      return written.stderr
    },
    until: (pattern) => written.until(pattern, exitCode),
    interrupt,
    press,
  }
}

/** Parses the lines of an NDJSON stream. */
export function readLines(text: string): readonly Readonly<Record<string, unknown>>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** Matches a command line that has ended with these words on standard error, and with nothing on standard output. */
export function ended(code: number, words: string | RegExp = '') {
  const stderr = typeof words === 'string' ? expect.stringContaining(words) : expect.stringMatching(words)
  return { code, stdout: '', stderr }
}

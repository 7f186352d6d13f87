import type { ErrorCode } from '../protocol/errors.ts'

/** A stream for text: stdout for data, stderr for people. */
export interface Output {
  readonly isTTY?: boolean
  /** @param callback is told when the text is out, or why it is not */
  write(text: string, callback?: (error?: Error | null) => void): unknown
}

/** Ends a command whose standard output nobody takes any more: a pipe that was closed, or a disk that is full. */
export class BrokenOutput extends Error {
  override readonly name = 'BrokenOutput'
  readonly exitCode: number

  constructor(cause: NodeJS.ErrnoException) {
    const isClosed = cause.code === 'EPIPE'
    super(isClosed ? 'standard output was closed' : `standard output cannot be written: ${cause.message}`, { cause })
    this.exitCode = isClosed ? EXIT.closed : EXIT.failed
  }
}

/** Writes what must not be lost. Rejects if it is not out. */
export function writeOut(output: Output, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/** All that a command has of its process. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean; readonly readableEnded?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  /** Resolves with true if no process can ever read standard output. */
  readonly isOutputDiscarded?: () => Promise<boolean>
  /** Adds advice to errors of this code, whose message cannot know the command line. */
  readonly advise?: (code: ErrorCode, fix: string) => void
  /** Aborted by Ctrl-C, or by BrokenOutput. */
  readonly interrupt: AbortSignal
  /** Calls back with each key at a terminal, without waiting for the end of a line. Returns a function that ends it. */
  readonly listenToKeys?: ((listener: (key: string) => void) => () => void) | undefined
}

/** Callback with which a command sets its exit code. */
export type Finish = (exitCode: number) => void

/** Exit codes of all commands. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  refused: 4,
  gaveUp: 5,
  interrupted: 130,
  closed: 141,
} as const

/** Ends a command with a message for people. */
export class ExitError extends Error {
  override readonly name = 'ExitError'
  readonly exitCode: number
  /** Advice to the user, which follows the message. */
  readonly fix: string | undefined

  constructor(exitCode: number, message: string, { fix, ...options }: ErrorOptions & { readonly fix?: string } = {}) {
    super(message, options)
    this.exitCode = exitCode
    this.fix = fix
  }
}

/** Returns true if an output may use colours. */
export function hasColour({ env }: Io, output: Output): boolean {
  return output.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
}

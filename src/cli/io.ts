/** Where text goes: data to stdout, words for people to stderr. */
export interface Output {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** All that a command has of its process. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  /** Aborted by Ctrl-C. */
  readonly interrupt: AbortSignal
  /** At a terminal: calls back with each key, without waiting for the end of a line. Gives what ends it. */
  readonly listenToKeys?: ((listener: (key: string) => void) => () => void) | undefined
}

/** How a command tells its exit code. */
export type Finish = (exitCode: number) => void

/** What the exit codes of all commands mean. */
export const EXIT = { done: 0, failed: 1, usage: 2, unreachable: 3, refused: 4, gaveUp: 5, interrupted: 130 } as const

/** Ends a command with a message for people. */
export class ExitError extends Error {
  override readonly name = 'ExitError'
  readonly exitCode: number

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** Whether colours may be used there. */
export function hasColour({ env }: Io, output: Output): boolean {
  return output.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
}

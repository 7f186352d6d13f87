/** A stream for text: stdout for data, stderr for people. */
export interface Output {
  readonly isTTY?: boolean
  /** @param callback is called when the text is written, or cannot be */
  write(text: string, callback?: (error?: Error | null) => void): unknown
}

/** Writes text that must not be lost. Rejects if it cannot be written. */
export function writeOut(output: Output, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/** The process of a command. */
export interface Process {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean; readonly readableEnded?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  /** Aborted by Ctrl-C, or by a BrokenOutput. */
  readonly interrupt: AbortSignal
  /** Calls back with each key that is pressed at a terminal. Returns a function that stops it. */
  readonly listenToKeys?: ((listener: (key: string) => void) => () => void) | undefined
}

/** The process of a command, and what its command line asks for. */
export interface Io extends Process {
  /** True with `--json`: standard output is for programs. */
  readonly isJson: boolean
}

/** Writes a result: the record for programs, or else the text for people, if there is one. */
export function emit({ isJson, stdout }: Io, record: object, text?: string, output = stdout): void {
  if (isJson) stdout.write(`${JSON.stringify(record)}\n`)
  else if (text !== undefined) output.write(`${text}\n`)
}

/** Writes a list: one record a line for programs; a table for people, or to standard error that there is nothing to list. */
export function emitList(io: Io, records: readonly object[], table: string, none: string): void {
  if (io.isJson) for (const record of records) emit(io, record)
  else if (records.length > 0) io.stdout.write(`${table}\n`)
  else tell(io, none)
}

/** Writes a line for people to standard error, beside the results. */
export function tell({ stderr }: Io, text: string): void {
  stderr.write(`${text}\n`)
}

/** Exit code of each reason to end a command. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  refused: 4,
  gave_up: 5,
  interrupted: 130,
  output_closed: 141,
} as const

/** Ends a command without success. The message is empty if the command has printed its outcome itself. */
export class ExitError extends Error {
  override readonly name = 'ExitError'
  readonly code: keyof typeof EXIT
  readonly exitCode: number
  readonly fix: string | undefined

  constructor(
    code: keyof typeof EXIT,
    message = '',
    { fix, ...options }: ErrorOptions & { readonly fix?: string } = {},
  ) {
    super(message, options)
    this.code = code
    this.exitCode = EXIT[code]
    this.fix = fix
  }
}

/** Ends a command whose standard output cannot be written: a closed pipe, or a full disk. */
export class BrokenOutput extends ExitError {
  constructor(cause: NodeJS.ErrnoException) {
    const isClosed = cause.code === 'EPIPE'
    const message = isClosed ? 'standard output was closed' : `standard output cannot be written: ${cause.message}`
    super(isClosed ? 'output_closed' : 'failed', message, { cause })
  }
}

/** Ends a command that was interrupted and has printed its summary. */
export function endIfInterrupted({ interrupt }: Io): void {
  if (interrupt.aborted) throw new ExitError('interrupted')
}

export function refuseFile(file: string, done: 'read' | 'written', cause: unknown): ExitError {
  return usageError(`${file} cannot be ${done}: ${messageOf(cause)}`)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export function usageError(message: string, options?: ErrorOptions & { readonly fix?: string }): ExitError {
  return new ExitError('usage', message, options)
}

/** Returns true if an output may use colours. */
export function hasColour({ env }: Io, output: Output): boolean {
  return output.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
}

import { once } from 'node:events'
import { ExitError, type Io, messageOf, tell, usageError } from '../io.ts'

/**
 * Asks at the terminal, and ends the command, which destroys something, unless the answer is the key y, or if there is no terminal, or if
 * its input ended with a password. Nothing can be read from standard input afterwards.
 */
export async function mustBeMeant(question: string, io: Io): Promise<void> {
  if (io.listenToKeys === undefined || io.stdin.readableEnded === true)
    throw usageError(question, { fix: 'If this is intended, add --yes.' })
  io.stderr.write(`${question} [y/N] `)
  const answered = new AbortController()
  let answer = ''
  await listenUntil(io, answered.signal, (key) => {
    answer ||= key
    answered.abort()
  })
  io.stderr.write('\n')
  io.interrupt.throwIfAborted()
  if (answer.toLowerCase() !== 'y') throw new ExitError('failed', 'nothing was changed')
}

/** Passes keys on until q is pressed, and prints why one of them failed. Ends the command at Ctrl-C. */
export async function untilQuit(io: Io, press: (key: string) => Promise<void>): Promise<void> {
  const quit = new AbortController()
  await listenUntil(io, quit.signal, (key) => {
    if (key === 'q') quit.abort()
    else press(key).catch((error: unknown) => tell(io, messageOf(error)))
  })
}

async function listenUntil(io: Io, signal: AbortSignal, listener: (key: string) => void): Promise<void> {
  const stop = io.listenToKeys?.(listener)
  const end = AbortSignal.any([signal, io.interrupt])
  if (!end.aborted) await once(end, 'abort')
  stop?.()
}

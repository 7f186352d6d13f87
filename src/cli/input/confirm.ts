import { once } from 'node:events'
import { EXIT, ExitError, type Io } from '../io.ts'

/**
 * Asks at the terminal, and takes one key for an answer: y. Ends the command if it has no terminal to ask at, or if the input of that was
 * ended behind a password. Nothing can be read from standard input afterwards.
 */
export async function confirm(question: string, io: Io): Promise<boolean> {
  if (io.listenToKeys === undefined || io.stdin.readableEnded === true)
    throw new ExitError(EXIT.usage, question, { fix: 'If this is intended, add --yes.' })
  io.stderr.write(`${question} [y/N] `)
  const answered = new AbortController()
  let answer = ''
  const stop = io.listenToKeys((key) => {
    answer ||= key
    answered.abort()
  })
  const end = AbortSignal.any([answered.signal, io.interrupt])
  if (!end.aborted) await once(end, 'abort')
  stop()
  io.stderr.write('\n')
  io.interrupt.throwIfAborted()
  return answer.toLowerCase() === 'y'
}

/** Ends the command, which destroys something, unless the user says yes. */
export async function mustBeMeant(question: string, io: Io): Promise<void> {
  if (!(await confirm(question, io))) throw new ExitError(EXIT.failed, 'nothing was changed')
}

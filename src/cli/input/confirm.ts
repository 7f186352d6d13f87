import { once } from 'node:events'
import { EXIT, ExitError, type Io } from '../io.ts'

/** Asks at the terminal, where one key answers: y. Ends the command where there is nobody to ask. */
export async function confirm(question: string, io: Io): Promise<boolean> {
  if (io.listenToKeys === undefined) throw new ExitError(EXIT.usage, `${question} If that is meant, add --yes.`)
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

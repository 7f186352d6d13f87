import { once } from 'node:events'
import { EXIT, type Io } from '../io.ts'

/** Hands keys on until q is pressed, or Ctrl-C. What a key cannot do is said. Resolves with the exit code. */
export async function untilQuit(io: Io, press: (key: string) => Promise<void>): Promise<number> {
  const quit = new AbortController()
  const say = (error: unknown) => io.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  const stop = io.listenToKeys?.((key) => {
    if (key === 'q') quit.abort()
    else press(key).catch(say)
  })
  const end = AbortSignal.any([quit.signal, io.interrupt])
  if (!end.aborted) await once(end, 'abort')
  stop?.()
  return io.interrupt.aborted ? EXIT.interrupted : EXIT.done
}

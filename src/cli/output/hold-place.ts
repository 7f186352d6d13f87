import { rm, stat, utimes, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT, ExitError, type Io } from '../io.ts'

/** The holder of a lock shows as often that it is alive. */
const BEAT_MS = 500
/** A lock that shows no life for so long was left by a process that was killed. */
const ABANDONED_AFTER_MS = 5_000
const WAIT_MS = 20_000
const LOOK_MS = 100

/**
 * Keeps other runs from filling a file until it is disposed of, by a lock beside it. Waits for a run that is at work there, until that has
 * filled it: then nothing is written any more, and no lock is needed. Ends the command if that takes long, or if the folder cannot be
 * written.
 */
export async function holdPlace(path: string, isFilled: () => Promise<boolean>, io: Io): Promise<AsyncDisposable> {
  const lock = `${path}.lock`
  const start = performance.now()
  let [beat, beatAt, isTold] = [0, start, false]
  while (!(await isFilled())) {
    if (await take(lock, path)) return hold(lock)
    const last = await readBeat(lock)
    const now = performance.now()
    if (last !== beat) [beat, beatAt] = [last, now]
    else if (now - beatAt > ABANDONED_AFTER_MS) await rm(lock, { force: true })
    if (now - start > WAIT_MS)
      throw new ExitError(EXIT.gaveUp, `Another run is using ${path}.`, {
        fix: 'Run the command again when that one has ended.',
      })
    if (!isTold && now - start > 1_000) io.stderr.write(`waiting for another run that is using ${path}\n`)
    isTold = now - start > 1_000
    await sleep(LOOK_MS, undefined, { signal: io.interrupt }).catch(() => io.interrupt.throwIfAborted())
  }
  return { async [Symbol.asyncDispose]() {} }
}

function hold(lock: string): AsyncDisposable {
  const timer = setInterval(() => utimes(lock, new Date(), new Date()).catch(() => {}), BEAT_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await rm(lock, { force: true })
    },
  }
}

/** Tries to take the lock, and returns true if it succeeded. */
async function take(lock: string, path: string): Promise<boolean> {
  try {
    await writeFile(lock, '', { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw new ExitError(EXIT.usage, `${path} cannot be written: ${error instanceof Error ? error.message : error}`)
  }
}

function readBeat(lock: string): Promise<number> {
  return stat(lock).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0, // it has just been given back
  )
}

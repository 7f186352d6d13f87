import { randomUUID } from 'node:crypto'
import { readFile, realpath, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT, ExitError, type Io } from '../io.ts'

/** Times of a lock, in milliseconds. */
export interface LockTimes {
  /** Interval in which the holder of a lock shows that it is alive. */
  readonly beatMs: number
  /** A lock that shows no life for so long was left by a process that was killed. */
  readonly abandonedAfterMs: number
  /** Time after which a run says that it waits. */
  readonly tellAfterMs: number
  readonly waitMs: number
  readonly lookMs: number
}

/** A place that no other run fills until it is disposed of. */
export interface HeldPlace extends AsyncDisposable {
  /** False once another run has taken it over, because this one stood still, as after Ctrl-Z. */
  isHeld(): Promise<boolean>
}

const TIMES: LockTimes = { beatMs: 500, abandonedAfterMs: 5_000, tellAfterMs: 1_000, waitMs: 20_000, lookMs: 100 }

/**
 * Keeps other runs from filling a file until it is disposed of, by a lock beside it. Waits for a run that is at work there, until that has
 * filled it: then nothing is written any more, and no lock is needed. Ends the command if that takes long, or if the folder cannot be
 * written.
 */
export async function holdPlace(
  path: string,
  isFilled: () => Promise<boolean>,
  io: Io,
  times: LockTimes = TIMES,
): Promise<HeldPlace> {
  const lock = `${await toOneName(path)}.lock`
  const owner = randomUUID()
  const start = performance.now()
  let [beat, beatAt, isTold] = [0, start, false]
  while (!(await isFilled())) {
    if (await take(lock, owner, path)) return hold(lock, owner, times)
    const last = await readBeat(lock)
    const now = performance.now()
    if (last !== beat) [beat, beatAt] = [last, now]
    else if (now - beatAt > times.abandonedAfterMs) await removeAbandoned(lock)
    if (now - start > times.waitMs)
      throw new ExitError(EXIT.gaveUp, `Another run is using ${path}.`, {
        fix: 'Run the command again when that one has ended.',
      })
    if (!isTold && now - start > times.tellAfterMs) {
      isTold = true
      io.stderr.write(`waiting for another run that is using ${path}\n`)
    }
    await sleep(times.lookMs, undefined, { signal: io.interrupt }).catch(() => io.interrupt.throwIfAborted())
  }
  return { isHeld: async () => false, async [Symbol.asyncDispose]() {} }
}

/** Resolves links: a lock under another name would hold nothing. */
async function toOneName(path: string): Promise<string> {
  const inFolder = async () => join(await realpath(dirname(path)), basename(path))
  return realpath(path)
    .catch(inFolder) // the file is yet to come
    .catch(() => path)
}

async function removeAbandoned(lock: string): Promise<void> {
  await rm(lock, { force: true }).catch((error: Error) => {
    throw new ExitError(EXIT.usage, `${lock} cannot be removed: ${error.message}`)
  })
}

function hold(lock: string, owner: string, { beatMs }: LockTimes): HeldPlace {
  const timer = setInterval(() => utimes(lock, new Date(), new Date()).catch(() => {}), beatMs)
  const isHeld = () =>
    readFile(lock, 'utf8').then(
      (text) => text === owner,
      () => false,
    )
  return {
    isHeld,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      if (await isHeld()) await rm(lock, { force: true })
    },
  }
}

/** Tries to take the lock, and returns true if it succeeded. */
async function take(lock: string, owner: string, path: string): Promise<boolean> {
  try {
    await writeFile(lock, owner, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (Object(error).code === 'EEXIST') return false
    await rm(lock, { force: true }) // on a full disk there is a file, and nothing in it
    throw new ExitError(EXIT.usage, `${path} cannot be written: ${error instanceof Error ? error.message : error}`)
  }
}

function readBeat(lock: string): Promise<number> {
  return stat(lock).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0, // it has just been given back
  )
}

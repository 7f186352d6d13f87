import { chmod, chown, open, readFile, realpath, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { kill, pid } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { ExitError, type Io, refuseFile, tell, usageError } from '../io.ts'

/** Creates an empty file that only its owner can read, as a place for a secret. Ends the command if there is a file already. */
export async function reserveFile(path: string): Promise<void> {
  await writeFile(path, '', { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    if (Object(error).code === 'EEXIST')
      throw usageError(`${path} is there already, and is not overwritten. Name another file.`)
    throw refuseFile(path, 'written', error)
  })
}

/**
 * Replaces a file as a whole or not at all, even if the disk is full or the process is killed. An existing file keeps its mode, its owner
 * and the links to it; only its owner can read a new one.
 */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const before = await stat(target).catch(() => undefined)
  const next = `${target}.${pid}.new`
  try {
    await rm(next, { force: true }) // a killed process with the same number may have left it
    await writeFile(next, content, { flag: 'wx', mode: 0o600, flush: true })
    if (before !== undefined) {
      await chown(next, before.uid, before.gid).catch(() => {}) // only root may change the owner
      await chmod(next, before.mode & 0o777)
    }
    await rename(next, target)
  } catch (error) {
    await rm(next, { force: true })
    throw error
  }
  await syncFolder(target)
}

/** Brings a new name in a folder to the disk. */
async function syncFolder(path: string): Promise<void> {
  try {
    await using folder = await open(dirname(path))
    await folder.sync()
  } catch {
    // Windows cannot open folders, and does not need this.
  }
}

const TIMES = {
  /** Interval in which the holder touches its lock. */
  beatMs: 500,
  /** A lock that was not touched for so long was left by a process that was killed. */
  abandonedAfterMs: 5_000,
  /** Time after which a command prints that it waits. */
  tellAfterMs: 1_000,
  waitMs: 20_000,
  lookMs: 100,
}
export type LockTimes = Readonly<typeof TIMES>

/**
 * Keeps other runs from filling a file until it is disposed of, by a lock beside it. Waits for a run that holds the lock. If that has filled
 * the file, no lock is taken, since nothing is written then. Ends the command if this takes long, or if the folder cannot be written.
 */
export async function holdFile(
  path: string,
  isFilled: () => Promise<boolean>,
  io: Io,
  times: LockTimes = TIMES,
): Promise<AsyncDisposable> {
  const lock = `${path}.lock`
  const start = performance.now()
  let [beat, beatAt, isTold] = [0, start, false]
  while (!(await isFilled())) {
    if (await take(lock, path)) return hold(lock, times)
    const last = (await stat(lock).catch(() => undefined))?.mtimeMs ?? 0 // 0 if it has just been released
    const now = performance.now()
    if (last !== beat) [beat, beatAt] = [last, now]
    else if (now - beatAt > times.abandonedAfterMs && !(await isHeld(lock))) await rm(lock, { force: true })
    if (now - start > times.waitMs)
      throw new ExitError('gave_up', `Another run is using ${path}.`, {
        fix: `Run the command again when that one has ended. If there is none: delete ${lock}`,
      })
    if (!isTold && now - start > times.tellAfterMs) {
      isTold = true
      tell(io, `waiting for another run that is using ${path}`)
    }
    await sleep(times.lookMs, undefined, { signal: io.interrupt }).catch(() => io.interrupt.throwIfAborted())
  }
  return { async [Symbol.asyncDispose]() {} }
}

async function take(lock: string, path: string): Promise<boolean> {
  try {
    await using file = await open(lock, 'wx', 0o600)
    await file.writeFile(`${pid}`).catch(() => {}) // a full disk has room for the name
    return true
  } catch (error) {
    if (Object(error).code === 'EEXIST') return false
    throw refuseFile(path, 'written', error)
  }
}

/** Returns true if another process of this machine lives that has the number in the lock, even if it is suspended. */
async function isHeld(lock: string): Promise<boolean> {
  try {
    const holder = Number(await readFile(lock, 'utf8'))
    return holder > 0 && holder !== pid && kill(holder, 0)
  } catch {
    return false
  }
}

function hold(lock: string, { beatMs }: LockTimes): AsyncDisposable {
  const timer = setInterval(() => utimes(lock, new Date(), new Date()).catch(() => {}), beatMs)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await rm(lock, { force: true })
    },
  }
}

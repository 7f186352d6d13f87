import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pid } from 'node:process'

/**
 * Replaces a file by one with this content: whole or not at all, also if the disk is full or the process is killed. A file that is there
 * keeps its mode, its owner and the links to it; a new one can be read by its owner only.
 */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const before = await stat(target).catch(() => undefined)
  const next = `${target}.${pid}.new`
  try {
    await rm(next, { force: true }) // left by a process of that number
    const file = await open(next, 'wx', 0o600)
    try {
      await file.writeFile(content)
      if (before !== undefined) {
        await file.chown(before.uid, before.gid).catch(() => {}) // only root may change the owner
        await file.chmod(before.mode & 0o777)
      }
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(next, target)
  } catch (error) {
    await rm(next).catch(() => {}) // it may not be there
    throw error
  }
  await syncFolder(target)
}

/** Brings a new name in a folder to the disk. */
export async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined
  try {
    folder = await open(dirname(path))
    await folder.sync()
  } catch {
    // Some systems open no folders, and need none of this.
  } finally {
    await folder?.close()
  }
}

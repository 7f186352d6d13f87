import { type FileHandle, open, rm } from 'node:fs/promises'
import { EXIT, ExitError } from '../io.ts'
import { syncFolder } from './replace-file.ts'

/** A new file, for a secret that is yet to come. */
export interface SecretFile {
  /** Fulfilled once it is on the disk. */
  save(secret: string): Promise<void>
  /** Takes the file away again, with whatever of the secret it has. */
  discard(): Promise<void>
}

/**
 * Makes the file before there is a secret, so that one which is shown only once has a place. Its owner alone can read it. Ends the command
 * if something is there already: it may be the secret of another webhook.
 */
export async function reserveSecretFile(path: string): Promise<SecretFile> {
  const file = await openNew(path)
  return {
    save: async (secret) => {
      await file.writeFile(`${secret}\n`)
      await file.sync()
      await file.close()
      await syncFolder(path)
    },
    discard: async () => {
      await file.close().catch(() => {}) // it may be closed
      await rm(path, { force: true })
    },
  }
}

async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    if (Object(error).code === 'EEXIST')
      throw new ExitError(EXIT.usage, `${path} is there already, and is not overwritten. Name another file.`)
    throw new ExitError(EXIT.usage, `${path} cannot be written: ${error instanceof Error ? error.message : error}`)
  }
}

import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { EXIT, ExitError } from '../io.ts'

const INDEX = 'index.json'

/** A folder's files, by name, and what its index says beside their digests. */
export interface OwnFiles {
  /** The command that wrote them; only files of the same one are replaced. */
  readonly tool: string
  readonly index: object
  readonly files: ReadonlyMap<string, Uint8Array>
}

/**
 * Writes files and an index of them into a folder, and takes away those of the last time that are no longer among them. Ends the command, before anything is written, if one of them is there and was
 * not written by the same tool, or was changed since.
 */
export async function writeOwnFiles(folder: string, { tool, index, files }: OwnFiles): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    const digests = await readDigests(folder, tool)
    for (const [name, bytes] of files) await mustBeOwn(join(folder, name), digests.get(name), bytes)
    for (const [name, recorded] of digests) if (!files.has(name)) await removeOwn(folder, name, recorded)
    const sha256 = Object.fromEntries([...files].map(([name, bytes]) => [name, digest(bytes)]))
    const text = `${JSON.stringify({ tool, ...index, sha256 }, null, 2)}\n`
    for (const [name, bytes] of [...files, [INDEX, Buffer.from(text)] as const]) {
      // A link is not followed: it is replaced.
      await rm(join(folder, name), { force: true })
      await writeFile(join(folder, name), bytes, { flag: 'wx' })
    }
  } catch (error) {
    if (error instanceof ExitError) throw error
    throw new ExitError(EXIT.usage, `${folder} cannot be written: ${error instanceof Error ? error.message : error}`)
  }
}

async function readDigests(folder: string, tool: string): Promise<ReadonlyMap<string, unknown>> {
  const path = join(folder, INDEX)
  const text = await readIfThere(path)
  if (text === undefined) return new Map()
  let value: unknown
  try {
    value = JSON.parse(text.toString())
  } catch {
    throw refuse(path, 'is not from this command')
  }
  const isOwn = typeof value === 'object' && value !== null && 'tool' in value && value.tool === tool
  if (!isOwn) throw refuse(path, 'is not from this command')
  const { sha256 } = value as { readonly sha256?: object } // of our own index, whatever is in it
  return new Map(Object.entries(sha256 ?? {}))
}

/** Its content may be the next one already: a run that was killed has not come to the index. */
async function mustBeOwn(path: string, recorded: unknown, next: Uint8Array): Promise<void> {
  const bytes = await readIfThere(path)
  if (bytes === undefined || digest(bytes) === recorded || Buffer.compare(bytes, next) === 0) return
  throw refuse(path, recorded === undefined ? 'is not from this command' : 'was changed since it was written')
}

/** Removes a file of this command. Keeps a file that the user changed, and one that the index names outside of the folder. */
async function removeOwn(folder: string, name: string, recorded: unknown): Promise<void> {
  if (name !== basename(name)) return
  const path = join(folder, name)
  const bytes = await readIfThere(path)
  if (bytes !== undefined && digest(bytes) === recorded) await rm(path)
}

async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if (Object(error).code === 'ENOENT') return undefined
    throw error
  }
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function refuse(path: string, why: string): ExitError {
  return new ExitError(
    EXIT.usage,
    `${path} ${why}, and is not overwritten. Name another folder, or move that file away.`,
  )
}

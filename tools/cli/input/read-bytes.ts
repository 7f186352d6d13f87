import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { type Io, messageOf, refuseFile, tell } from '../io.ts'

/** Reads standard input to its end. Rejects at Ctrl-C. */
export async function readStdin(io: Io): Promise<Buffer> {
  const { stdin, interrupt } = io
  interrupt.throwIfAborted()
  if (stdin.isTTY) tell(io, 'reading standard input, to its end (Ctrl-D)')
  const interrupted = once(interrupt, 'abort').then(() => {
    throw interrupt.reason
  })
  return Promise.race([buffer(stdin), interrupted])
}

export async function readBytes(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    const advice = file.startsWith('@') ? '. Write its name without the @.' : ''
    throw refuseFile(file, 'read', `${messageOf(error)}${advice}`)
  }
}

/** Reads a file; undefined if it does not exist. Ends the command if it cannot be read. */
export async function readIfThere(file: string): Promise<Buffer | undefined> {
  return readFile(file).catch((error: unknown) => {
    if (Object(error).code === 'ENOENT') return undefined
    throw refuseFile(file, 'read', error)
  })
}

/** Decodes UTF-8, without the byte order mark that some editors put in front. */
export function toText(bytes: Buffer): string {
  return new TextDecoder().decode(bytes)
}

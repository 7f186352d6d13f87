import { readFile } from 'node:fs/promises'
import { EXIT, ExitError, type Io } from '../io.ts'

/** All bytes of standard input. At a terminal it says that it waits for them. */
export async function readStdin({ stdin, stderr }: Io): Promise<Buffer> {
  if (stdin.isTTY) stderr.write('reading standard input, to its end (Ctrl-D)\n')
  const parts: Uint8Array[] = []
  for await (const part of stdin) parts.push(Buffer.from(part))
  return Buffer.concat(parts)
}

/** The bytes of a file, or the end of the command. */
export async function readBytes(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw new ExitError(EXIT.usage, `${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}

import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { EXIT, ExitError } from '../io.ts'

/** The value that an env file sets; undefined where the file is not there, or sets nothing by that name. */
export async function readEnvFile(file: string, name: string): Promise<string | undefined> {
  const text = await read(file)
  return (text !== undefined && parseEnv(text)[name]) || undefined
}

/**
 * Writes a value into an env file, which does not set it yet, and leaves all other lines as they are. A file that is made can be read by
 * its owner only.
 */
export async function writeEnvFile(file: string, name: string, value: string): Promise<void> {
  const line = `${name}=${value}\n`
  const text = (await read(file)) ?? ''
  const empty = new RegExp(`^(?:export +)?${name}=[ \\t"']*\\r?\\n?`, 'm')
  try {
    if (empty.test(text)) await writeFile(file, text.replace(empty, line))
    else await appendFile(file, text === '' || text.endsWith('\n') ? line : `\n${line}`, { mode: 0o600 })
  } catch (error) {
    throw new ExitError(EXIT.usage, `${file} cannot be written: ${error instanceof Error ? error.message : error}`)
  }
}

async function read(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new ExitError(EXIT.usage, `${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}

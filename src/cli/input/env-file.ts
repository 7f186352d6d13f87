import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { EXIT, ExitError } from '../io.ts'

/** The value that an env file sets; undefined if the file is not there, or sets nothing by that name. */
export async function readEnvFile(file: string, name: string): Promise<string | undefined> {
  const text = await read(file)
  return (text !== undefined && parseEnv(text)[name]) || undefined
}

/**
 * Writes values into an env file, which does not set them yet, and leaves all other lines as they are. A new file can be read by its
 * owner only.
 */
export async function writeEnvFile(file: string, values: Readonly<Record<string, string>>): Promise<void> {
  const before = (await read(file)) ?? ''
  let text = before
  let more = ''
  for (const [name, value] of Object.entries(values)) {
    const empty = new RegExp(`^(?:export +)?${name}=[ \\t"']*\\r?\\n?`, 'm')
    const line = `${name}=${value}\n`
    if (empty.test(text)) text = text.replace(empty, line)
    else more += line
  }
  try {
    if (text !== before) await writeFile(file, text)
    if (more !== '') await appendFile(file, text === '' || text.endsWith('\n') ? more : `\n${more}`, { mode: 0o600 })
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

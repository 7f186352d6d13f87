import { readFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { EXIT, ExitError } from '../io.ts'
import { replaceFile } from '../output/replace-file.ts'

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
  let text = (await read(file)) ?? ''
  for (const [name, value] of Object.entries(values)) {
    const empty = new RegExp(`^(?:export +)?${name}=[ \\t"']*\\r?\\n?`, 'm')
    const line = `${name}=${toEnvValue(name, value)}\n`
    if (empty.test(text)) text = text.replace(empty, () => line)
    else text += text === '' || text.endsWith('\n') ? line : `\n${line}`
  }
  try {
    await replaceFile(file, text)
  } catch (error) {
    throw new ExitError(EXIT.usage, `${file} cannot be written: ${error instanceof Error ? error.message : error}`)
  }
}

/** A value as it stands in an env file: in quotes if it would be read otherwise. Ends the command if there is no way to write it. */
function toEnvValue(name: string, value: string): string {
  const forms = /^[\w.:/+=@~-]*$/.test(value) ? [value] : [`'${value}'`, `"${value}"`, `\`${value}\``]
  const form = /\p{Cc}/u.test(value) ? undefined : forms.find((each) => parseEnv(`${name}=${each}\n`)[name] === value)
  if (form === undefined) throw new ExitError(EXIT.usage, `${name} has characters that an env file cannot hold.`)
  return form
}

async function read(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new ExitError(EXIT.usage, `${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}

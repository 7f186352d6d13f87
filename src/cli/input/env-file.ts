import { readFile } from 'node:fs/promises'
import { isDeepStrictEqual, parseEnv } from 'node:util'
import { EXIT, ExitError } from '../io.ts'
import { replaceFile } from '../output/replace-file.ts'

/** Variables by name. */
type Variables = Readonly<Record<string, string | undefined>>

/** The value that an env file sets; undefined if the file is not there, or sets nothing by that name. */
export async function readEnvFile(file: string, name: string): Promise<string | undefined> {
  const bytes = await read(file)
  return (bytes !== undefined && parseEnvFile(bytes, file)[name]) || undefined
}

/** The variables that an env file sets. Ends the command if it is UTF-16, as some shells of Windows write it. */
export function parseEnvFile(bytes: Buffer, file: string): Variables {
  if (bytes.includes(0)) throw new ExitError(EXIT.usage, `${file} is not UTF-8 text. Save it as UTF-8.`)
  return parseEnv(bytes.toString().replace(/^\ufeff/, ''))
}

/**
 * Writes values into an env file, which does not set them yet, and leaves all other lines as they are. A new file can be read by its
 * owner only.
 */
export async function writeEnvFile(file: string, values: Readonly<Record<string, string>>): Promise<void> {
  let bytes = (await read(file)) ?? Buffer.alloc(0)
  for (const [name, value] of Object.entries(values)) bytes = setVariable(bytes, file, name, value)
  try {
    await replaceFile(file, bytes)
  } catch (error) {
    throw new ExitError(EXIT.usage, `${file} cannot be written: ${error instanceof Error ? error.message : error}`)
  }
}

/** Fills a line that names the variable and sets nothing, or adds one: whichever is read as it should be. */
function setVariable(bytes: Buffer, file: string, name: string, value: string): Buffer {
  // One character a byte: what is not UTF-8 stays as it is.
  const text = bytes.toString('latin1')
  const line = Buffer.from(`${name}=${toEnvValue(name, value)}`).toString('latin1')
  const empty = new RegExp(`^(export +)?${name}=[ \\t"']*(?=(#)|\\r?$)`, 'gm')
  const filled = [...text.matchAll(empty)].map(({ 0: before, 1: exported = '', 2: comment, index }) => {
    return `${text.slice(0, index)}${exported}${line}${comment ? ' ' : ''}${text.slice(index + before.length)}`
  })
  const added = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`
  const wanted = { ...parseEnvFile(bytes, file), [name]: value }
  // Names stand in values of several lines, too, and the last of several lines counts.
  const found = [...filled, added]
    .map((each) => Buffer.from(each, 'latin1'))
    .find((each) => isDeepStrictEqual({ ...parseEnvFile(each, file) }, wanted))
  if (found === undefined)
    throw new ExitError(EXIT.usage, `${file} has no place for ${name}: a quote in it is probably not closed.`)
  return found
}

/** A value as it stands in an env file: in quotes if it would be read otherwise. Ends the command if there is no way to write it. */
function toEnvValue(name: string, value: string): string {
  const forms = /^[\w.:/+=@~-]*$/.test(value) ? [value] : [`'${value}'`, `"${value}"`, `\`${value}\``]
  const form = /\p{Cc}/u.test(value) ? undefined : forms.find((each) => parseEnv(`${name}=${each}\n`)[name] === value)
  if (form === undefined) throw new ExitError(EXIT.usage, `${name} has characters that an env file cannot hold.`)
  return form
}

async function read(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (error) {
    if (Object(error).code === 'ENOENT') return undefined
    throw new ExitError(EXIT.usage, `${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}

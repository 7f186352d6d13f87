import { isDeepStrictEqual, parseEnv } from 'node:util'
import { type Command, Option } from 'commander'
import { type Io, refuseFile, usageError } from '../io.ts'
import { replaceFile } from '../output/own-file.ts'
import { readBytes, readIfThere, toText } from './read-bytes.ts'

/** The option for an env file, which stands in for the environment. */
export interface EnvOptions {
  readonly env?: string
}

/**
 * Adds `--env`, and `--env-file` for the same: Node itself reads `--env-file` in all arguments, and exits with code 9 if there is no such
 * file.
 */
export function addEnvOption(command: Command, description: string): Command {
  return command
    .option('--env <file>', description)
    .addOption(new Option('--env-file <file>').hideHelp())
    .on('option:env-file', (file: string) => command.setOptionValue('env', file))
}

/** Names the env file after a variable that it does not set, for messages. */
export function inFile({ env }: EnvOptions): string {
  return env === undefined ? '' : ` in ${env}`
}

/** Returns the variables of the env file, if there is the option, or else of the environment. A file may be a pipe: it is read once. */
export async function readVariables({ env }: EnvOptions, io: Io): Promise<Io['env']> {
  return env === undefined ? io.env : parseEnvFile(await readBytes(env), env)
}

/** Returns the value of a variable in an env file; undefined if there is none, or no file. */
export async function readEnvFile(file: string, name: string): Promise<string | undefined> {
  const bytes = await readIfThere(file)
  return (bytes !== undefined && parseEnvFile(bytes, file)[name]) || undefined
}

/** Returns the variables of an env file. Ends the command if the file is UTF-16, as some shells of Windows write it. */
export function parseEnvFile(bytes: Buffer, file: string): Io['env'] {
  if (bytes.includes(0)) throw usageError(`${file} is not UTF-8 text. Save it as UTF-8.`)
  return parseEnv(toText(bytes))
}

/** Sets variables in an env file that has no values for them, and leaves all other lines as they are. */
export async function writeEnvFile(file: string, values: Readonly<Record<string, string>>): Promise<void> {
  let bytes = (await readIfThere(file)) ?? Buffer.alloc(0)
  for (const [name, value] of Object.entries(values)) bytes = setVariable(bytes, file, name, value)
  try {
    await replaceFile(file, bytes)
  } catch (error) {
    throw refuseFile(file, 'written', error)
  }
}

/** Fills a line that names the variable without a value, or else adds a line. Ends the command if neither is read back correctly. */
function setVariable(bytes: Buffer, file: string, name: string, value: string): Buffer {
  // As Latin-1, bytes that are not UTF-8 stay as they are.
  const text = bytes.toString('latin1')
  const line = Buffer.from(`${name}=${toEnvValue(name, value)}`).toString('latin1')
  const empty = new RegExp(`^(export +)?${name}=[ \\t"']*(?=(#)|\\r?$)`, 'gm')
  const filled = [...text.matchAll(empty)].map(({ 0: before, 1: exported = '', 2: comment, index }) => {
    return `${text.slice(0, index)}${exported}${line}${comment ? ' ' : ''}${text.slice(index + before.length)}`
  })
  const added = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`
  const wanted = { ...parseEnvFile(bytes, file), [name]: value }
  // The name may also occur within a value of several lines, or in a line that a later one overrides.
  const found = [...filled, added]
    .map((each) => Buffer.from(each, 'latin1'))
    .find((each) => isDeepStrictEqual({ ...parseEnvFile(each, file) }, wanted))
  if (found === undefined) throw usageError(`${file} has no place for ${name}: a quote in it is probably not closed.`)
  return found
}

/** Quotes a value if that is necessary. Ends the command if an env file cannot hold it. */
function toEnvValue(name: string, value: string): string {
  const forms = /^[\w.:/+=@~-]*$/.test(value) ? [value] : [`'${value}'`, `"${value}"`, `\`${value}\``]
  const form = /\p{Cc}/u.test(value) ? undefined : forms.find((each) => parseEnv(`${name}=${each}\n`)[name] === value)
  if (form === undefined) throw usageError(`${name} has characters that an env file cannot hold.`)
  return form
}

import type { Command } from 'commander'
import { type Io, usageError } from '../io.ts'
import { addEnvOption, type EnvOptions, inFile, readVariables } from './env-file.ts'
import { readBytes, readStdin, toText } from './read-bytes.ts'

/** Options for the place of the secret, which is never an argument itself: arguments appear in the process list and in the shell history. */
export interface SecretOptions extends EnvOptions {
  readonly secretEnv: string
  readonly secretFile?: string | undefined
  readonly secretStdin?: true | undefined
}

export function addSecretOptions(command: Command): Command {
  command
    .option(
      '--secret-env <name>',
      'the environment variable that holds the signing secret',
      readVariableName,
      'WEBHOOK_SECRET',
    )
    .option('--secret-file <file>', 'the file that holds it')
    .option('--secret-stdin', 'it comes on standard input')
  return addEnvOption(command, 'the env file that sets the variable, in place of the environment')
}

/** Returns the secret, without the line break at the end of a file or of `echo`. */
export async function readSecret(options: SecretOptions, io: Io): Promise<string> {
  const { secretEnv, secretFile, secretStdin, env } = options
  const places = { '--secret-file': secretFile, '--secret-stdin': secretStdin, '--env': env }
  const given = Object.entries(places).flatMap(([name, value]) => (value === undefined ? [] : name))
  if (given.length > 1) throw usageError(`Give ${given.slice(0, 2).join(' or ')}, not both.`)
  if (secretStdin) return toSecret(await readStdin(io), 'Standard input')
  if (secretFile !== undefined) return toSecret(await readBytes(secretFile), secretFile)
  const { [secretEnv]: secret } = await readVariables(options, io)
  if (secret) return secret
  throw usageError(
    `There is no secret: ${secretEnv} is not set${inFile(options)}. Set it, or name another variable (--secret-env), a file (--secret-file, --env) or standard input (--secret-stdin).`,
  )
}

/** Reads a body from a file, or else from standard input, unless that holds the secret. */
export async function readBody(
  file: string | undefined,
  { secretStdin }: Pick<SecretOptions, 'secretStdin'>,
  io: Io,
): Promise<Buffer> {
  if (file !== undefined && file !== '-') return readBytes(file)
  if (secretStdin) throw usageError('Standard input holds the secret: name the file of the body.')
  return readStdin(io)
}

/** Reads the text of an option that takes JSON itself, `@FILE`, or `-` or `@-` for standard input. */
export async function readJsonText(given: string, secret: Pick<SecretOptions, 'secretStdin'>, io: Io): Promise<string> {
  return /^(@|-$)/.test(given) ? toText(await readBody(given.replace('@', ''), secret, io)) : given
}

/** Returns a sentence about the value of such an option that may be the name of a file. */
export function adviseFile(given: string): string {
  return /^[\w.~:\\/][\w.~:\\/-]*$/.test(given) ? ` If that is a file, write @${given}.` : ''
}

/** Ends the command if the bytes are not UTF-8, such as the UTF-16 of some shells of Windows: decoded, they would be another secret. */
function toSecret(bytes: Buffer, source: string): string {
  const text = bytes.toString()
  if (text.includes('\0') || !Buffer.from(text).equals(bytes)) throw usageError(`${source} is not UTF-8 text.`)
  const secret = toText(bytes).replace(/\r?\n$/, '')
  if (secret === '') throw usageError(`${source} is empty: it holds no secret.`)
  return secret
}

/** Reads the name of a variable. Anything else may be the secret itself, and is not repeated. */
export function readVariableName(value: string): string {
  if (!/^[A-Za-z_]\w*$/.test(value))
    throw usageError('An option takes the name of a variable, but got something else, such as the secret.')
  return value
}

import { type Command, Option } from 'commander'
import { EXIT, ExitError, type Io } from '../io.ts'
import { readEnvFile } from './env-file.ts'
import { readBytes, readStdin } from './read-bytes.ts'

/** Options that name the place of the secret. It is never an argument itself: those stand in the list of processes and in the history of the shell. */
export interface SecretOptions {
  readonly secretEnv: string
  readonly secretFile?: string
  readonly secretStdin?: true
  readonly env?: string
  readonly envFile?: string
}

/**
 * Returns the env file of the options. Two options name it, since Node itself reads `--env-file` in all arguments, and exits with code 9
 * if there is no such file.
 */
export function envFileOf({ env, envFile }: SecretOptions): string | undefined {
  return env ?? envFile
}

export function addSecretOptions(command: Command): Command {
  return command
    .option('--secret-env <name>', 'the environment variable that holds the signing secret', readName, 'WEBHOOK_SECRET')
    .option('--secret-file <file>', 'the file that holds it')
    .option('--secret-stdin', 'it comes on standard input')
    .option('--env <file>', 'the env file that sets the variable, in place of the environment')
    .addOption(new Option('--env-file <file>', 'the same, for a file that is there').hideHelp())
}

/** The secret as it is, but for the one line break that files and `echo` end with. */
export async function readSecret(options: SecretOptions, io: Io): Promise<string> {
  const { secretEnv, secretFile, secretStdin } = options
  const envFile = envFileOf(options)
  if (secretFile !== undefined && secretStdin)
    throw new ExitError(EXIT.usage, 'Give --secret-file or --secret-stdin, not both.')
  if (secretStdin) return toSecret(await readStdin(io), 'Standard input')
  if (secretFile !== undefined) return toSecret(await readBytes(secretFile), secretFile)
  const secret = envFile === undefined ? io.env[secretEnv] : await readEnvFile(envFile, secretEnv)
  // That is what stands for bytes that are not UTF-8.
  if (secret?.includes('\ufffd')) throw new ExitError(EXIT.usage, `The value of ${secretEnv} is not UTF-8 text.`)
  if (secret) return secret
  throw new ExitError(
    EXIT.usage,
    `There is no secret: ${secretEnv} is not set${envFile === undefined ? '' : ` in ${envFile}`}. Set it, or name another variable (--secret-env), a file (--secret-file, --env) or standard input (--secret-stdin).`,
  )
}

/** The body: a file, or else standard input, which then can't hold the secret too. */
export async function readBody(file: string | undefined, { secretStdin }: SecretOptions, io: Io): Promise<Buffer> {
  if (file !== undefined && file !== '-') return readBytes(file)
  if (secretStdin) throw new ExitError(EXIT.usage, 'Standard input holds the secret: name the file of the body.')
  return readStdin(io)
}

/** Ends the command if the bytes are no text: read as such, they would be another secret. Some shells of Windows write UTF-16. */
function toSecret(bytes: Buffer, source: string): string {
  const text = bytes.toString()
  if (text.includes('\0') || !Buffer.from(text).equals(bytes))
    throw new ExitError(EXIT.usage, `${source} is not UTF-8 text.`)
  return text.replace(/^\ufeff/, '').replace(/\r?\n$/, '')
}

/** The name of a variable. What is none may be the secret itself, and is not repeated. */
export function readName(value: string): string {
  if (!/^[A-Za-z_]\w*$/.test(value))
    throw new ExitError(
      EXIT.usage,
      'An option takes the name of a variable, but got something else, such as the secret.',
    )
  return value
}

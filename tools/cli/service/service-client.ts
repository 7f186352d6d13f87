import type { Command } from 'commander'
import { type Client, createClient, type Wait } from '../../../src/client/client.ts'
import { showDuration } from '../../../src/host/duration.ts'
import { isLoopback } from '../../../src/protocol/loopback.ts'
import { SEEDED_ACCOUNTS } from '../../emulator/accounts.ts'
import { addEnvOption, type EnvOptions, inFile, readVariables } from '../input/env-file.ts'
import { nameUrl, numberReader, WHOLE, wholeUrl } from '../input/read-option.ts'
import { readSecret, readVariableName } from '../input/secret.ts'
import { type Io, tell, usageError } from '../io.ts'
import { toPrintable, toWord } from '../output/print-table.ts'
import { BASE_URL, EMULATOR_URL, isEmulator } from './emulator-client.ts'

/** Options for the address of the service, and for the places of the credentials, which are never arguments themselves. */
export interface ServiceOptions extends EnvOptions {
  readonly baseUrl?: string
  readonly emailEnv: string
  readonly passwordEnv: string
  readonly passwordFile?: string
  readonly passwordStdin?: true
  readonly retries: number
  readonly allowHttp?: true
  readonly yes?: true
}

const EMULATOR_ANSWERS_WITHIN_MS = 2_000
const EMAIL = 'POSTERN_EMAIL'
const PASSWORD = 'POSTERN_PASSWORD'

export function addServiceOptions(command: Command): Command {
  const options = command
    .option('--base-url <url>', `where the service is; else ${BASE_URL} says it`)
    .option('--email-env <name>', 'the environment variable that holds the e-mail address', readVariableName, EMAIL)
    .option('--password-env <name>', 'the one that holds the password', readVariableName, PASSWORD)
    .option('--password-file <file>', 'the file that holds it')
    .option('--password-stdin', 'it comes on standard input')
  return addEnvOption(options, 'the env file that sets these variables, in place of the environment')
    .option('--retries <n>', 'how often a call is repeated after a failure, 0 to 20', readRetries, 5)
    .option('--allow-http', 'http: for other machines too; the password then goes over the network for all to read')
}

/** Writes these options for a shell, each after a blank: with them, an advised command goes to the same service. */
export function writeServiceOptions(options: ServiceOptions): string {
  const { baseUrl, emailEnv, passwordEnv, passwordFile, passwordStdin, env, allowHttp } = options
  const values = {
    'base-url': baseUrl,
    'email-env': emailEnv === EMAIL ? undefined : emailEnv,
    'password-env': passwordEnv === PASSWORD ? undefined : passwordEnv,
    'password-file': passwordFile,
    env,
  }
  const written = Object.entries(values).map(([name, value]) =>
    value === undefined ? '' : ` --${name} ${toWord(value)}`,
  )
  return [...written, passwordStdin ? ' --password-stdin' : '', allowHttp ? ' --allow-http' : ''].join('')
}

const readRetries = numberReader(WHOLE, (retries) => retries <= 20, 'a whole number from 0 to 20')

/** Returns a client of the service that the options name or, without any, of an emulator on this machine. */
export async function connectToService(
  options: ServiceOptions,
  io: Io,
  onWait: (wait: Wait) => void = (wait) => tellWait(wait, io),
): Promise<Client> {
  const { baseUrl, email, password } = await findService(options, io)
  const warn = (_: unknown, message?: string) => tell(io, `postern: ${message}`)
  return createClient({
    baseUrl,
    email,
    password,
    onWait,
    maxRetries: options.retries,
    allowHttp: options.allowHttp,
    logger: { debug: () => {}, info: () => {}, warn, error: warn },
  })
}

function tellWait({ ms, reason }: Wait, io: Io): void {
  if (ms >= 1_000)
    tell(io, `waiting ${showDuration(ms)} ${reason === 'rate_limit' ? 'for rate limit' : 'after a failure'}`)
}

async function findService(options: ServiceOptions, io: Io) {
  const variables = await readVariables(options, io)
  const baseUrl = options.baseUrl ?? (variables[BASE_URL] || undefined)
  const email = variables[options.emailEnv] || undefined
  const hasPassword =
    options.passwordFile !== undefined || options.passwordStdin || Boolean(variables[options.passwordEnv])
  if (baseUrl === undefined) {
    // Credentials of a service are not sent to an emulator on a guess.
    if (
      email !== undefined ||
      hasPassword ||
      !(await isEmulator(new URL(EMULATOR_URL), io.interrupt, EMULATOR_ANSWERS_WITHIN_MS))
    )
      throw usageError('The address of the service is not set.', {
        fix: `Give --base-url URL, or set ${BASE_URL}; or start an emulator in another terminal: npx postern emulator`,
      })
    const [account] = SEEDED_ACCOUNTS
    if (account === undefined) throw new Error('the emulator has no account')
    tell(io, `service: the emulator at ${EMULATOR_URL}, account ${account.key} (${account.email})`)
    return { ...account, baseUrl: EMULATOR_URL }
  }
  mustBeSafe(baseUrl, options)
  if (email === undefined)
    throw usageError(
      `There is no e-mail address: ${options.emailEnv} is not set${inFile(options)}. Set it, or name another variable (--email-env) or an env file (--env).`,
    )
  if (!hasPassword)
    throw usageError(
      `There is no password: ${options.passwordEnv} is not set${inFile(options)}. Set it, or name another variable (--password-env), a file (--password-file, --env) or standard input (--password-stdin).`,
    )
  return { baseUrl, email, password: await readPassword(options, { ...io, env: variables }) }
}

function readPassword(options: ServiceOptions, io: Io): Promise<string> {
  const { passwordEnv, passwordFile, passwordStdin } = options
  return readSecret({ secretEnv: passwordEnv, secretFile: passwordFile, secretStdin: passwordStdin }, io)
}

/** Ends the command if the address is unsafe: the messages of the client are about code. */
function mustBeSafe(baseUrl: string, options: ServiceOptions): void {
  const name = options.baseUrl === undefined ? BASE_URL : '--base-url'
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol))
    throw usageError(
      `${nameUrl(name, baseUrl)} is not a URL of a service; write it whole: ${wholeUrl(name, baseUrl, 'https://crm.example.com')}`,
    )
  const url = new URL(baseUrl)
  if (url.protocol === 'http:' && !options.allowHttp && !isLoopback(url))
    throw usageError(
      `${url.origin} is http, which would send the password over the network for all to read. Give https, or --allow-http.`,
    )
}

/** Prints why retries have no result if their webhook is paused. */
export async function tellIfPaused(client: Client, webhookId: string, options: ServiceOptions, io: Io): Promise<void> {
  const { active } = await client.webhooks.get(webhookId, { signal: io.interrupt })
  if (active !== false) return
  const resume = `npx postern webhooks resume ${toWord(webhookId)}${writeServiceOptions(options)}`
  tell(io, `webhook ${toPrintable(webhookId)} is paused, and holds back what is retried: ${resume}`)
}

import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { isLoopback } from '../../../src/protocol/loopback.ts'
import { SIGNATURE_NAME } from '../../../src/protocol/signature-name.ts'
import type { Emulator, EmulatorDelivery, EmulatorWebhook } from '../../emulator/emulator.ts'
import { createEvents } from '../../testing/events.ts'
import { showTarget } from '../../wire/target.ts'
import {
  addEmulatorOptions,
  countPending,
  DEFAULT_PORT,
  type EmulatorCommandOptions,
  inspectorOf,
  openEmulator,
} from '../input/emulator-options.ts'
import { readEnvFile, writeEnvFile } from '../input/env-file.ts'
import { KNOWN_TYPES, readSubscribedTypes } from '../input/event-types.ts'
import { untilQuit } from '../input/keys.ts'
import { buildEvent } from '../input/make-events.ts'
import { collectWords, readTargetUrl } from '../input/read-option.ts'
import { addSecretOptions, readSecret, type SecretOptions } from '../input/secret.ts'
import { emit, endIfInterrupted, type Io, messageOf, tell, usageError } from '../io.ts'
import { createDeliveryDisplay } from '../output/attempt-line.ts'
import { openInBrowser } from '../output/open-in-browser.ts'
import { describeInbox } from '../service/late-inbox.ts'
import { addCommand } from './add-group.ts'

interface DevOptions extends EmulatorCommandOptions, SecretOptions {
  readonly forward: string
  readonly events?: readonly string[]
  readonly anyType?: true
  readonly showSecrets?: true
  readonly yes?: true
}

/** `postern dev`: the service on this machine, with a webhook for the user's app. */
export function addDev(program: Command, io: Io): void {
  const command = addCommand(
    program,
    'dev',
    'Start the service on this machine, and have it deliver to your app.',
    'It ends with a summary: q and exit code 0 at a terminal, Ctrl-C and 130; 3 where it cannot start.',
    'postern dev --forward http://localhost:3000/webhooks --env .env.local',
    'postern dev --forward http://localhost:3000/webhooks --events contact.*,finance.payment.failed --retry-scale 600',
  )
    .requiredOption('--forward <url>', 'where your app takes deliveries')
    .option(
      '--events <list>',
      'types with commas, contact.* for the three of a model (default: all that it names)',
      collectWords,
    )
    .option('--any-type', 'subscribe to types as they stand, though the service does not name them')
  addSecretOptions(command)
    .option('--show-secrets', 'print the secret with --json too')
    .option('--yes', 'deliver also to a host that is not this machine')
  addEmulatorOptions(command).action((options: DevOptions) => develop(options, io))
}

async function develop(options: DevOptions, io: Io): Promise<void> {
  // By its default rule, the emulator delivers over http and to private networks, as of containers, on this machine only.
  const url = readTargetUrl(options.forward, '--forward', options.yes === true, '--yes --assume urlRule=any')
  const events = options.events ? readSubscribedTypes(options.events, options.anyType === true) : KNOWN_TYPES
  const given = await findSecret(options, io)
  const known = await readDevToken(options, io)
  const token = known ?? randomBytes(18).toString('base64url')
  await using emulator = await openEmulator(options, io, token)
  if (isLoopback(url) && url.port === new URL(emulator.url).port)
    throw usageError(`--forward leads to port ${url.port}, where the emulator itself listens: give --port another one.`)
  const named = options.env === undefined ? undefined : await readEnvFile(options.env, options.secretEnv)
  if (named !== undefined && named !== given)
    throw usageError(`${options.secretEnv} in ${options.env} is another secret than the one that was given.`, {
      fix: 'Leave one of them out.',
    })
  // With a data file, attempts of the last run may be due immediately.
  const display = createDeliveryDisplay(options, io)
  const stop = emulator.subscribe(display.show)
  const webhook = registerAt(emulator, url, events, given)
  if (options.env !== undefined)
    await writeEnvFile(options.env, {
      ...(given === undefined && { [options.secretEnv]: webhook.secret }),
      ...(known === undefined && { [DEV_TOKEN]: token }),
    })
  emit(io, toReady(emulator, webhook, options))
  if (!io.isJson) await introduce(emulator, webhook, { ...options, token }, given !== undefined, io)
  tellOthers(emulator, webhook, io)
  await untilQuit(io, (key) => press(key, emulator, io))
  stop()
  display.finish(countPending(emulator))
  endIfInterrupted(io)
}

/** Returns the secret that the app has already, which is never overwritten. */
async function findSecret(options: DevOptions, io: Io): Promise<string | undefined> {
  const { secretFile, secretStdin, secretEnv, env } = options
  // The env file is the one that gets the secret of the webhook.
  if (secretFile !== undefined || secretStdin) return readSecret({ secretFile, secretStdin, secretEnv }, io)
  return env === undefined ? io.env[secretEnv] || undefined : readEnvFile(env, secretEnv)
}

/** Variable of the token that lets the receiver say why a handler failed. */
const DEV_TOKEN = 'POSTERN_DEV'

/** Returns the token that the app may have been started with. */
async function readDevToken({ env }: DevOptions, io: Io): Promise<string | undefined> {
  const token = env === undefined ? io.env[DEV_TOKEN] : await readEnvFile(env, DEV_TOKEN)
  return token && /^[\w-]{16,}$/.test(token) ? token : undefined
}

const DESCRIPTION = 'made by postern dev'

/** Registers the webhook. By its default rule, the emulator accepts http on this machine only. */
function registerAt(...given: Parameters<typeof register>): EmulatorWebhook {
  try {
    return register(...given)
  } catch (error) {
    if (isLoopback(given[1])) throw error
    throw usageError(`${messageOf(error)}. If --forward is intended, add --assume urlRule=any.`)
  }
}

/** Updates the webhook of an earlier run, which a data file may have, or replaces it if its secret is not that of the app. */
function register(
  emulator: Emulator,
  url: URL,
  events: readonly string[],
  secret: string | undefined,
): EmulatorWebhook {
  const isOwn = (webhook: EmulatorWebhook) => webhook.url === url.href && webhook.description === DESCRIPTION
  for (const webhook of emulator.webhooks.list().filter(isOwn)) {
    if (secret === undefined || webhook.secret === secret)
      return emulator.webhooks.update(webhook.id, { events, active: true })
    emulator.webhooks.delete(webhook.id)
  }
  return emulator.webhooks.create({ url: url.href, events, description: DESCRIPTION }, { secret })
}

/** Names webhooks of earlier runs in the data file, which deliver to another URL. */
function tellOthers(emulator: Emulator, { id }: EmulatorWebhook, io: Io): void {
  for (const other of emulator.webhooks.list())
    if (other.active && other.description === DESCRIPTION && other.id !== id)
      tell(
        io,
        `Webhook ${other.id} of an earlier run also delivers, to ${showTarget(new URL(other.url))}. Delete it at ${inspectorOf(emulator)}`,
      )
}

function toReady(
  emulator: Emulator,
  { id, url, events, secret }: EmulatorWebhook,
  { showSecrets }: DevOptions,
): object {
  const webhook = { id, url: showTarget(new URL(url)), events, secret: showSecrets ? secret : '***' }
  return { type: 'ready', url: emulator.url, inspector: inspectorOf(emulator), webhook }
}

async function introduce(
  emulator: Emulator,
  webhook: EmulatorWebhook,
  options: DevOptions & { readonly token: string },
  isGiven: boolean,
  io: Io,
) {
  const { events = ['all that the service names'], token } = options
  const [account] = emulator.accounts.list()
  const { port } = new URL(emulator.url)
  const where = port === String(DEFAULT_PORT) ? '' : ` --emulator ${emulator.url}`
  const lines = [
    `emulator   ${emulator.url}   account ${account?.key} (${account?.email}, ${account?.password})`,
    `receiver   ${showTarget(new URL(webhook.url))}`,
    `webhook    ${webhook.id} active   ${events.join(', ')}`,
    `secret     ${describeSecret(webhook, options, isGiven)}`,
    ...(options.signatureHeader === SIGNATURE_NAME
      ? []
      : [`header     ${options.signatureHeader}   your app names it as signatureHeader`]),
    ...(options.env === undefined ? [`errors     shown in the inspector if your app has ${DEV_TOKEN}=${token}`] : []),
    ...(options.inbox === undefined ? [] : [`inbox      ${await describeInbox(options.inbox)}`]),
    `inspector  ${inspectorOf(emulator)}`,
    `try        npx postern trigger contact.created --watch${where}`,
  ]
  if (io.listenToKeys) lines.push(listKeys(emulator))
  tell(io, lines.join('\n'))
}

function describeSecret({ secret }: EmulatorWebhook, options: DevOptions, isGiven: boolean): string {
  const { secretEnv, secretFile, secretStdin, env } = options
  if (secretFile !== undefined || secretStdin || (isGiven && env === undefined)) return 'the one that was given'
  return env === undefined
    ? `${secret}   give it to your app as ${secretEnv}, or have it written: --env .env.local`
    : `${isGiven ? 'the one' : 'written'} in ${env} as ${secretEnv}: your app has to be started with it`
}

function listKeys({ clock }: Emulator): string {
  const next = clock.isManual ? ', n next attempt' : ''
  return `keys       t trigger contact.created, r retry what failed last, o open the inspector${next}, h these keys, q quit`
}

/** Immediately retries the delivery that failed last. */
function retryLast({ deliveries }: Emulator): void {
  const all = deliveries.list()
  const acknowledged = new Set(all.filter(({ status }) => status === 'success').map(({ eventId }) => eventId))
  const failed = all.filter(
    ({ eventId, attempts, isInFlight }) =>
      !acknowledged.has(eventId) && !isInFlight && attempts.at(-1)?.failure !== undefined,
  )
  const last = failed.toSorted((one, other) => lastAttemptAt(one) - lastAttemptAt(other)).at(-1)
  if (last === undefined) throw new Error('no delivery has failed')
  // A pending delivery keeps its schedule. The receiver treats its later attempts as duplicates.
  if (last.status === 'failed') deliveries.retry(last.id)
  else deliveries.resend(last.id)
}

function lastAttemptAt({ attempts }: EmulatorDelivery): number {
  return attempts.at(-1)?.at ?? 0
}

async function press(key: string, emulator: Emulator, io: Io): Promise<void> {
  if (key === 't') emulator.events.emit(buildEvent(createEvents(), 'contact.created', {}))
  if (key === 'r') retryLast(emulator)
  if (key === 'o') await openInBrowser(inspectorOf(emulator), io)
  if (key === 'h') tell(io, listKeys(emulator))
  if (key === 'n' && emulator.clock.isManual) await emulator.clock.next()
}

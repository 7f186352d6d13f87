import type { Command } from 'commander'
import { type Client, ensureWebhook, type Rotation, rotateWebhook } from '../../../src/client/client.ts'
import { readReplaced } from '../../../src/client/registrations.ts'
import { hasCode } from '../../../src/client/service-error.ts'
import { showDuration } from '../../../src/host/duration.ts'
import { readSubscribedTypes } from '../input/event-types.ts'
import { collectWords, waitOption } from '../input/read-option.ts'
import { readVariableName } from '../input/secret.ts'
import { ExitError, emit, type Io, messageOf, tell, usageError } from '../io.ts'
import { withoutRaw } from '../output/print-delivery.ts'
import { toPrintable, toWord } from '../output/print-table.ts'
import { type KeeperOptions, type NamedKeeper, openKeeper } from '../output/secret-keeper.ts'
import { connectToService, type ServiceOptions, writeServiceOptions } from '../service/service-client.ts'
import type { AddCommand } from './add-group.ts'

interface EnsureCommandOptions extends ServiceOptions, KeeperOptions {
  readonly url: string
  readonly events: readonly string[]
  readonly description?: string
  readonly anyType?: true
  readonly replaceActive?: true
}

interface RotateCommandOptions extends ServiceOptions, KeeperOptions {
  readonly url?: string
  readonly overlap: number
  readonly wait: number
  readonly giveUpFailed?: true
}

/** `postern webhooks ensure` and `rotate`: both keep the secret, and go on if they are run again. */
export function addRegistrations(add: AddCommand, io: Io): void {
  addPlace(
    add(
      'ensure',
      'See to it that a URL has one active webhook whose secret is saved. Run again, it changes only what is not so.',
      'ensure --url https://app.example.com/webhooks --events contact.*,sync.failed --secret-file crm.secret',
      'ensure --url https://app.example.com/webhooks --events contact.created --to-env .env.ensured --json',
    ),
  )
    .requiredOption('--url <url>', 'the address that it delivers to')
    .requiredOption('--events <list>', 'types with commas; contact.* for the three of a model', collectWords)
    .option('--any-type', 'take types as they stand, though the service does not name them')
    .option('--description <text>', 'a label for a new webhook')
    .option('--replace-active', 'delete an active webhook of this URL whose secret is not saved')
    .action((options: EnsureCommandOptions) => ensure(options, io))
  addPlace(
    add(
      'rotate',
      'Replace a webhook by one with a new secret, without missing a delivery. Run again, it goes on.',
      'rotate 65f0c1 --secret-file next.secret',
      'rotate 65f0c1 --to-env .env.next --overlap 1m --wait 10m --json',
    ),
  )
    .argument('<id>', 'of the webhook to be replaced')
    .option('--url <url>', 'the address of the new webhook (default: that of the old one)')
    .addOption(waitOption('--overlap <time>', 'how long both deliver at least', 60_000, '1m'))
    .addOption(waitOption('--wait <time>', 'how long to wait for what is pending', 10_800_000, '3h'))
    .option('--give-up-failed', 'delete the old webhook though only its log has events that failed')
    .action((id: string, options: RotateCommandOptions) => rotate(id, options, io))
}

function addPlace(command: Command): Command {
  return command
    .option('--secret-file <file>', 'the file for the secret; FILE.webhook beside it notes the webhook')
    .option('--to-env <file>', 'or the env file for both')
    .option('--secret-env <name>', 'the name of the variable in the env file', readVariableName, 'WEBHOOK_SECRET')
}

async function ensure(options: EnsureCommandOptions, io: Io): Promise<void> {
  const { url, events, anyType, description, replaceActive } = options
  const types = readSubscribedTypes(events, anyType === true)
  await using place = await openKeeper(options, io)
  const client = await connectToService(options, io)
  const ensured = await ensureWebhook(client, {
    url,
    events: types,
    description,
    replaceActive,
    ...place.keeper,
    signal: io.interrupt,
  }).catch((error) => explain(error, place))
  const { webhook, isNew, deleted } = ensured
  emit(io, { ...withoutRaw(webhook), isNew, deleted, secretIn: place.name })
  for (const id of deleted) tell(io, `webhook ${toPrintable(id)} is deleted: its secret was lost`)
  const what = isNew ? 'is registered and active' : 'was there, and is active'
  tell(io, `webhook ${toPrintable(webhook.id)} ${what}; its secret is in ${place.name}`)
  const all = await client.webhooks.list({ signal: io.interrupt })
  for (const { id, active, url: other = '' } of all)
    if (id !== webhook.id && active !== false && toPlace(other) === toPlace(url) && readReplaced(webhook) !== id)
      tell(io, `webhook ${toPrintable(id)} is active too, and delivers to ${toPrintable(other)}: are both meant?`)
}

/** Returns a URL in a form that is the same for spellings of one place. */
function toPlace(url: string): string {
  return url
    .replace(/^(https?:\/\/)(127\.0\.0\.1|\[::1\])(?=[:/]|$)/i, '$1localhost')
    .replace(/\/$/, '')
    .toLowerCase()
}

async function rotate(webhookId: string, options: RotateCommandOptions, io: Io): Promise<void> {
  await using place = await openKeeper(options, io)
  if (await place.keeper.hasSecret(webhookId))
    throw usageError(`${place.name} holds the secret of the webhook that is to be replaced.`, {
      fix: 'Name another place, which your receiver reads too.',
    })
  const client = await connectToService(options, io)
  await mustBeFirst(client, webhookId, place, options, io)
  const { overlap, wait, giveUpFailed } = options
  const rotation = await rotateWebhook(client, {
    webhookId,
    url: options.url,
    ...place.keeper,
    signal: io.interrupt,
    overlapMs: overlap,
    waitMs: wait,
    pollMs: Math.min(10_000, overlap || 10_000),
    giveUpFailed: giveUpFailed === true,
    onProgress: createProgress(place, options, io),
  }).catch((error) => explain(error, place))
  tellRotation(webhookId, rotation, place, options, io)
}

/** Ends the command if the webhook is being replaced by one whose secret is in another place: both would stay. */
async function mustBeFirst(
  { webhooks }: Client,
  webhookId: string,
  { name, keeper }: NamedKeeper,
  options: RotateCommandOptions,
  io: Io,
): Promise<void> {
  const all = await webhooks.list({ signal: io.interrupt })
  if (!all.some(({ id }) => id === webhookId)) return
  const others = all.filter((webhook) => readReplaced(webhook) === webhookId && webhook.active !== false)
  const areSaved = await Promise.all(others.map(({ id }) => keeper.hasSecret(id)))
  if (others[0] === undefined || areSaved.includes(true)) return
  const { id } = others[0]
  throw new ExitError(
    'failed',
    `Webhook ${toPrintable(id)} is active and already replaces ${toPrintable(webhookId)}; its secret is not in ${name}.`,
    {
      fix: `Name the place that the first run named. If that secret is lost: npx postern webhooks delete ${toWord(id)}${writeServiceOptions(options)}`,
    },
  )
}

/** Prints once for how long both webhooks deliver, and then each change of what the rotation waits for. */
function createProgress(
  { name }: NamedKeeper,
  { overlap, wait }: RotateCommandOptions,
  io: Io,
): (rotation: Rotation) => void {
  let last: string | undefined
  return (rotation) => {
    const { webhook, pending, failed } = rotation
    if (last === undefined) {
      const id = toPrintable(webhook.id)
      tell(io, `webhook ${id} takes its place; its secret is in ${name}: your receiver needs both`)
      if (webhook.active !== false)
        tell(
          io,
          `both deliver for at least ${showDuration(overlap)}, then until ${id} has succeeded once and nothing is pending, for up to ${showDuration(wait)}`,
        )
    }
    const unproven = describeUnproven(rotation)
    const line = `${pending} pending and ${failed} failed only in the old webhook's log${unproven && `; ${unproven}`}`
    if (line !== last) tell(io, line)
    last = line
  }
}

/** Says that the new webhook has not delivered yet. Returns an empty text if it has, or is paused. */
function describeUnproven({ webhook: { id, active }, isProven, unsuccessful }: Rotation): string {
  if (isProven || active === false) return ''
  return `no delivery of webhook ${toPrintable(id)} has succeeded yet (${unsuccessful} tried)`
}

function tellRotation(
  webhookId: string,
  rotation: Rotation,
  { name }: NamedKeeper,
  { giveUpFailed }: RotateCommandOptions,
  io: Io,
): void {
  const { state, webhook, pending, failed, held } = rotation
  emit(io, { ...rotation, webhook: withoutRaw(webhook), secretIn: name })
  const old = toPrintable(webhookId)
  const say = (text: string) => tell(io, text)
  if (state === 'finished')
    return say(`webhook ${old} is deleted; ${toPrintable(webhook.id)} is in its place, and its secret in ${name}`)
  say(`both webhooks deliver: ${pending} pending, ${failed} failed, ${held} held back only in that of ${old}`)
  const unproven = describeUnproven(rotation)
  if (unproven) say(`${unproven}. Has your receiver loaded the secret in ${name}?`)
  const isStuck = pending === 0 && failed + held > 0 && !giveUpFailed
  if (isStuck) say('Fix the cause and run the same command again, or give these events up with --give-up-failed.')
  else say('Run the same command again to continue.')
  throw new ExitError(isStuck ? 'failed' : 'gave_up')
}

function explain(error: unknown, { name }: NamedKeeper): never {
  if (hasCode(error, 'secret_not_saved') && error instanceof Error) {
    const why = messageOf(error.cause ?? 'unknown cause').replace(/\.$/, '')
    throw new ExitError('failed', `${name} cannot be written: ${why}. ${toPrintable(error.message)}`)
  }
  if (hasCode(error, 'webhook_not_ours') && error instanceof Error)
    throw new ExitError('failed', 'An active webhook of this URL has a secret that is not saved here.', {
      cause: error,
      fix: 'If it is yours and its secret is lost, add --replace-active.',
    })
  throw error
}

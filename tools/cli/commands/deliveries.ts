import type { Command } from 'commander'
import { type Client, type Delivery, replayFailed } from '../../../src/client/client.ts'
import { readLog } from '../../../src/client/replay-plan.ts'
import { collectTypes, isOfTypes, readSince } from '../input/delivery-filter.ts'
import { durationOption } from '../input/read-option.ts'
import { ExitError, emit, emitList, type Io, usageError } from '../io.ts'
import { COLUMNS, toColumns, withoutRaw } from '../output/print-delivery.ts'
import { formatTable, toPrintable } from '../output/print-table.ts'
import { followLog } from '../service/follow-log.ts'
import { addServiceOptions, connectToService, type ServiceOptions, tellIfPaused } from '../service/service-client.ts'
import { addGroup } from './add-group.ts'

interface LogListOptions extends ServiceOptions {
  readonly failed?: true
  readonly since?: Date
  readonly type?: readonly string[]
  readonly follow?: true
}

interface ResendCommandOptions extends ServiceOptions {
  readonly webhook?: string
  readonly timeout: number
}

const FIRST_LOOK_MS = 200

/** `postern deliveries …`: the delivery log of a webhook. */
export function addDeliveries(program: Command, io: Io): void {
  const add = addGroup(program, 'deliveries', {
    description: 'Look at what the service has delivered.',
    notes: `Exit codes: 0 done, or acknowledged, 1 refused, failed again, or not a failed delivery, 2 usage, 3 no service there,
4 login refused, 5 gave up on the rate limit, or no result in time, 130 interrupted.`,
    examples: ['list 65f0c1 --failed --since 24h', 'list 65f0c1 --failed --json > failed.ndjson'],
  })
  addServiceOptions(
    add(
      'list',
      'The delivery log of a webhook, in the order of the service.',
      'list 65f0c1 --failed --since 24h',
      'list 65f0c1 --failed --json > failed.ndjson',
    ),
  )
    .argument('[id]', 'of the webhook; without it, the webhooks of the account are named')
    .option('--failed', 'only what failed for good')
    .option('--since <time>', 'only deliveries made since: 24h, or a date', readSince)
    .option('--type <types>', 'only events of these types, with commas; contact.*, *.deleted', collectTypes)
    .option('--follow', 'go on with what is new or has changed, until Ctrl-C')
    .option('--json', 'one JSON object a line to standard output')
    .action(async (id: string | undefined, options: LogListOptions) => {
      const client = await connectToService(options, io)
      if (id === undefined) throw await nameWebhooks(client, io)
      if (options.follow) await follow(client, id, options, io)
      else show((await readLog(client, id, options.since, io.interrupt)).filter(isWanted(options)), io)
    })
  addServiceOptions(
    add(
      'resend',
      'Have the service make a failed delivery again, and wait for its result.',
      'resend 77aa01',
      'resend 77aa01 --webhook 65f0c1 --json',
    ),
  )
    .argument('<id>', 'of the delivery')
    .option('--webhook <id>', 'its webhook; without it, all logs of the account are searched')
    .addOption(durationOption('--timeout <time>', 'how long to wait for the result', 60_000, '60s'))
    .option('--json', 'print one JSON object to standard output')
    .action((id: string, options: ResendCommandOptions) => resend(id, options, io))
}

async function nameWebhooks(client: Client, io: Io): Promise<ExitError> {
  const webhooks = await client.webhooks.list({ signal: io.interrupt })
  if (webhooks.length === 0) return usageError('The account has no webhook, and so no deliveries.')
  const names = webhooks.map(({ id, url = '-' }) => `  ${toPrintable(id)}  ${toPrintable(url)}`)
  return usageError(`Name one of the webhooks of the account:\n${names.join('\n')}`)
}

function isWanted({ failed, since, type }: LogListOptions): (delivery: Delivery) => boolean {
  const isOfType = isOfTypes(type)
  return (delivery) =>
    isOfType(delivery) &&
    (!failed || delivery.state === 'failed') &&
    (since === undefined || delivery.createdAt === undefined || delivery.createdAt >= since)
}

function show(deliveries: readonly Delivery[], io: Io): void {
  const table = formatTable(COLUMNS, deliveries.map(toColumns))
  emitList(io, deliveries.map(withoutRaw), table, 'the log has no such delivery')
}

async function resend(id: string, options: ResendCommandOptions, io: Io): Promise<void> {
  const client = await connectToService(options, io)
  const webhookId = options.webhook ?? (await findWebhookOf(client, id, io))
  const { timeout: waitMs } = options
  const wanted = { webhookId, waitMs, pollMs: FIRST_LOOK_MS, signal: io.interrupt }
  const { events, skipped } = await replayFailed(client, { ...wanted, filter: (delivery) => delivery.id === id })
  const [event] = events
  if (event === undefined) {
    let why = 'The log of its webhook has no failed delivery of that id.'
    if (skipped.pending > 0) why = 'Another delivery of its event is under way.'
    if (skipped.delivered > 0) why = 'Another delivery of its event was acknowledged.'
    throw new ExitError('failed', `Delivery ${toPrintable(id)} was not sent again. ${why}`)
  }
  const { delivery, after, outcome } = event
  const last = after ?? delivery
  emit(io, { outcome, ...withoutRaw(last) }, formatTable(['OUTCOME', ...COLUMNS], [[outcome, ...toColumns(last)]]))
  if (outcome === 'succeeded') return
  if (outcome !== 'unresolved') throw new ExitError('failed')
  await tellIfPaused(client, webhookId, options, io)
  throw new ExitError('gave_up')
}

async function findWebhookOf(client: Client, id: string, io: Io): Promise<string> {
  const signal = io.interrupt
  for (const webhook of await client.webhooks.list({ signal }))
    for await (const delivery of client.deliveries(webhook.id, { signal })) if (delivery.id === id) return webhook.id
  throw new ExitError('failed', `No webhook of the account has a delivery ${toPrintable(id)}.`)
}

/** Shows the log, the latest delivery last, and then each delivery again that changes, until Ctrl-C. */
async function follow(client: Client, id: string, options: LogListOptions, io: Io): Promise<void> {
  const isOfInterest = isWanted(options)
  emit(io, { type: 'ready', webhookId: id })
  for await (const news of followLog(client, id, options.since, io.interrupt)) {
    const wanted = news.filter(isOfInterest)
    if (wanted.length > 0) show(wanted, io)
  }
  throw new ExitError('interrupted')
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Client, Delivery } from '../../client/client.ts'
import { readLog } from '../../client/replay-plan.ts'
import { isOfTypes, readSince } from '../delivery-filter.ts'
import { EXIT, type Finish, type Io } from '../io.ts'
import { COLUMNS, toColumns, toRecord } from '../print-delivery.ts'
import { formatTable } from '../print-table.ts'
import { collectWords } from '../read-option.ts'
import { addServiceOptions, connectToService, type ServiceOptions } from '../service-client.ts'

interface ListOptions extends ServiceOptions {
  readonly failed?: true
  readonly since?: Date
  readonly type?: readonly string[]
  readonly follow?: true
  readonly json?: true
}

/** Between two looks at the log. */
const POLL_MS = 2_000

/** `postern deliveries …`: the delivery log of a webhook. */
export function addDeliveries(program: Command, io: Io, finish: Finish): void {
  const group = program
    .command('deliveries')
    .description('Look at what the service has delivered.')
    .addHelpText('after', EXAMPLES)
  addServiceOptions(group.command('list').description('The delivery log of a webhook, in the order of the service.'))
    .argument('<id>', 'of the webhook')
    .option('--failed', 'only what failed for good')
    .option('--since <time>', 'only deliveries made since: 24h, or a date', readSince)
    .option('--type <types>', 'only events of these types, with commas; contact.*, *.deleted', collectWords)
    .option('--follow', 'go on with what is new or has changed, until Ctrl-C')
    .option('--json', 'one JSON object a line to standard output')
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, options: ListOptions) => {
      const client = await connectToService(options, io)
      if (options.follow) await follow(client, id, options, io)
      else show(await read(client, id, options, io), options, io)
      finish(options.follow ? EXIT.interrupted : EXIT.done)
    })
}

async function read(client: Client, id: string, { failed, since, type }: ListOptions, io: Io) {
  const log = await readLog(client, id, since, io.interrupt)
  const isOfType = isOfTypes(type)
  return log.filter(
    (delivery) =>
      isOfType(delivery) &&
      (!failed || delivery.state === 'failed') &&
      (since === undefined || delivery.createdAt === undefined || delivery.createdAt >= since),
  )
}

function show(deliveries: readonly Delivery[], { json }: ListOptions, io: Io): void {
  if (json) for (const delivery of deliveries) io.stdout.write(`${JSON.stringify(toRecord(delivery))}\n`)
  else if (deliveries.length === 0) io.stderr.write('the log has no such delivery\n')
  else io.stdout.write(`${formatTable(COLUMNS, deliveries.map(toColumns))}\n`)
}

/** The latest last, and then each line again as it changes. */
async function follow(client: Client, id: string, options: ListOptions, io: Io): Promise<void> {
  const shown = new Map<string, string>()
  if (options.json) io.stdout.write(`${JSON.stringify({ type: 'ready', webhookId: id })}\n`)
  while (!io.interrupt.aborted) {
    const news: Delivery[] = []
    for (const delivery of await read(client, id, options, io)) {
      const text = JSON.stringify(toColumns(delivery))
      if (shown.get(delivery.id) !== text) news.push(delivery)
      shown.set(delivery.id, text)
    }
    if (news.length > 0) show(news.toReversed(), options, io)
    await sleep(POLL_MS, undefined, { signal: io.interrupt }).catch(() => {})
  }
}

const EXAMPLES = `
Exit codes: 0 done, 1 refused, 2 usage, 3 no service there, 4 login refused, 5 gave up on the rate limit, 130 interrupted.

Examples:
  $ postern deliveries list 65f0c1 --failed --since 24h
  $ postern deliveries list 65f0c1 --failed --json > failed.ndjson`

import type { Command } from 'commander'
import type { Client, Delivery } from '../../client/client.ts'
import { readLog } from '../../client/replay-plan.ts'
import { isOfTypes, readSince } from '../input/delivery-filter.ts'
import { collectWords } from '../input/read-option.ts'
import { EXIT, type Finish, type Io } from '../io.ts'
import { COLUMNS, toColumns, toRecord } from '../output/print-delivery.ts'
import { formatTable } from '../output/print-table.ts'
import { followLog } from '../service/follow-log.ts'
import { addServiceOptions, connectToService, type ServiceOptions } from '../service/service-client.ts'

interface ListOptions extends ServiceOptions {
  readonly failed?: true
  readonly since?: Date
  readonly type?: readonly string[]
  readonly follow?: true
  readonly json?: true
}

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

async function read(client: Client, id: string, options: ListOptions, io: Io) {
  const log = await readLog(client, id, options.since, io.interrupt)
  return log.filter(isWanted(options))
}

function isWanted({ failed, since, type }: ListOptions): (delivery: Delivery) => boolean {
  const isOfType = isOfTypes(type)
  return (delivery) =>
    isOfType(delivery) &&
    (!failed || delivery.state === 'failed') &&
    (since === undefined || delivery.createdAt === undefined || delivery.createdAt >= since)
}

function show(deliveries: readonly Delivery[], { json }: ListOptions, io: Io): void {
  if (json) for (const delivery of deliveries) io.stdout.write(`${JSON.stringify(toRecord(delivery))}\n`)
  else if (deliveries.length === 0) io.stderr.write('the log has no such delivery\n')
  else io.stdout.write(`${formatTable(COLUMNS, deliveries.map(toColumns))}\n`)
}

/** The latest last, and then each line again as it changes. */
async function follow(client: Client, id: string, options: ListOptions, io: Io): Promise<void> {
  const isOfInterest = isWanted(options)
  if (options.json) io.stdout.write(`${JSON.stringify({ type: 'ready', webhookId: id })}\n`)
  for await (const news of followLog(client, id, options.since, io.interrupt)) {
    const wanted = news.filter(isOfInterest)
    if (wanted.length > 0) show(wanted, options, io)
  }
}

const EXAMPLES = `
Exit codes: 0 done, 1 refused, 2 usage, 3 no service there, 4 login refused, 5 gave up on the rate limit, 130 interrupted.

Examples:
  $ postern deliveries list 65f0c1 --failed --since 24h
  $ postern deliveries list 65f0c1 --failed --json > failed.ndjson`

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
/** Every so many looks the log is read whole: something that was finished long ago may have been retried by hand. */
const WHOLE_EVERY = 30

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
  const known = new Map<string, Known>()
  const isOfInterest = isWanted(options)
  let canStop = false
  if (options.json) io.stdout.write(`${JSON.stringify({ type: 'ready', webhookId: id })}\n`)
  for (let look = 0; !io.interrupt.aborted; look++) {
    const isWhole = look % WHOLE_EVERY === 0
    const log =
      isWhole || !canStop
        ? await readLog(client, id, options.since, io.interrupt)
        : await readNews(client, id, known, io)
    if (isWhole) canStop = isNewestFirst(log)
    const news = log.filter((delivery) => known.get(delivery.id)?.text !== toText(delivery))
    for (const delivery of log) known.set(delivery.id, { text: toText(delivery), isOpen: isOpen(delivery) })
    const wanted = news.filter(isOfInterest)
    if (wanted.length > 0) show(wanted.toReversed(), options, io)
    await sleep(POLL_MS, undefined, { signal: io.interrupt }).catch(() => {})
  }
}

/** A line of the log as it was last seen. */
interface Known {
  readonly text: string
  /** Whether it may change by itself. */
  readonly isOpen: boolean
}

function isOpen({ state }: Delivery): boolean {
  return state === 'pending' || state === 'unknown'
}

function toText(delivery: Delivery): string {
  return JSON.stringify(toColumns(delivery))
}

/** The log down to where all is known and finished: each page of it costs of the rate limit. */
async function readNews(
  client: Client,
  id: string,
  known: ReadonlyMap<string, Known>,
  io: Io,
): Promise<readonly Delivery[]> {
  const open = new Set([...known].filter(([, { isOpen }]) => isOpen).map(([id]) => id))
  const news: Delivery[] = []
  for await (const delivery of client.deliveries(id, { signal: io.interrupt })) {
    if (open.size === 0 && known.get(delivery.id)?.text === toText(delivery)) break
    open.delete(delivery.id)
    news.push(delivery)
  }
  return news
}

/** Only in such a log is what is new to be found at the beginning. */
function isNewestFirst(log: readonly Delivery[]): boolean {
  const times = log.map(({ createdAt }) => createdAt?.getTime() ?? Number.NaN)
  return (
    times.length > 1 &&
    times.every((time, at) => at === 0 || time <= (times[at - 1] ?? Number.NaN)) &&
    times[0] !== times.at(-1)
  )
}

const EXAMPLES = `
Exit codes: 0 done, 1 refused, 2 usage, 3 no service there, 4 login refused, 5 gave up on the rate limit, 130 interrupted.

Examples:
  $ postern deliveries list 65f0c1 --failed --since 24h
  $ postern deliveries list 65f0c1 --failed --json > failed.ndjson`

import { type Command, Option } from 'commander'
import type * as z from 'zod'
import { readLatency, readShare } from '../input/emulator-options.ts'
import { readCount, readTime } from '../input/read-option.ts'
import { EXIT, ExitError, type Finish, type Io } from '../io.ts'
import { formatTable } from '../output/print-table.ts'
import { showTime } from '../output/show-time.ts'
import { faults as answeredFaults } from '../service/emulator-answers.ts'
import {
  addEmulatorUrl,
  connectToEmulator,
  type EmulatorClient,
  type EmulatorUrlOptions,
} from '../service/emulator-client.ts'

interface FaultsOptions extends EmulatorUrlOptions {
  readonly json?: true
}

interface SetOptions extends FaultsOptions {
  readonly answer?: string
  readonly count?: number
  readonly delay?: number
  readonly fail?: number
  readonly duplicate?: number
  readonly shuffle?: true
  readonly latency?: string | readonly [string, string]
}

type Faults = z.output<typeof answeredFaults>

/** `postern faults …`: what goes wrong in a running emulator. */
export function addFaults(program: Command, io: Io, finish: Finish): void {
  const group = program
    .command('faults')
    .description('Let deliveries and calls of a running emulator go wrong, or right again.')
    .addHelpText('after', examples('show', 'set --answer 429 --count 3'))
  const add = (name: string, description: string, ...lines: readonly string[]) =>
    addEmulatorUrl(group.command(name).description(description))
      .option('--json', 'print one JSON object to standard output')
      .addHelpText('after', examples(...lines))
  const end = (faults: Faults, { json }: FaultsOptions) => {
    io.stdout.write(`${json ? JSON.stringify(faults) : formatFaults(faults)}\n`)
    finish(EXIT.done)
  }

  add('show', 'The faults in force.', 'show', 'show --json').action(async (options: FaultsOptions) => {
    const emulator = await connectToEmulator(options, io)
    end((await emulator.readState()).faults, options)
  })
  add(
    'set',
    'Add a fault of the API, or put the faults of deliveries in the place of those in force.',
    'set --answer 429 --count 3',
    'set --fail 0.2 --latency 50-500ms',
  )
    .addOption(
      new Option('--answer <kind>', 'the next calls of the API').choices(['401', '429', '500', 'slow', 'reset']),
    )
    .option('--count <n>', 'of so many calls (default: 1)', readCount)
    .option('--delay <time>', 'how long a slow answer takes (default: 5s)', readTime)
    .option('--fail <share>', 'lose so many attempts before they are sent: 0.2', readShare)
    .option('--duplicate <share>', 'send so many attempts twice: 0.1', readShare)
    .option('--shuffle', 'deliver in any order')
    .option('--latency <time>', 'wait before each attempt: 200ms, or 50-500ms', readLatency)
    .action(async (options: SetOptions) => {
      const bodies = toBodies(options)
      end(await setFaults(await connectToEmulator(options, io), bodies), options)
    })
  add('clear', 'As they were when the emulator was started.', 'clear', 'clear --json').action(
    async (options: FaultsOptions) => {
      const emulator = await connectToEmulator(options, io)
      end(await emulator.call('DELETE faults', answeredFaults), options)
    },
  )
}

type Bodies = readonly [object, ...object[]]

/** One body for each of the two kinds. */
function toBodies(options: SetOptions): Bodies {
  const { answer, count, delay: delayMs, fail, duplicate, shuffle, latency } = options
  const given = { fail, duplicate, shuffle, latency }
  const deliveries = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  if (answer === undefined && (count !== undefined || delayMs !== undefined))
    throw new ExitError(EXIT.usage, '--count and --delay are for --answer.')
  const [first, ...others] = [
    ...(answer === undefined ? [] : [{ answer, ...(count && { count }), ...(delayMs && { delayMs }) }]),
    ...(Object.keys(deliveries).length === 0 ? [] : [{ deliveries }]),
  ]
  if (first === undefined)
    throw new ExitError(EXIT.usage, 'Give --answer, or one of --fail, --duplicate, --shuffle and --latency.')
  return [first, ...others]
}

async function setFaults(emulator: EmulatorClient, [first, ...others]: Bodies): Promise<Faults> {
  let faults = await emulator.call('POST faults', answeredFaults, { body: first })
  for (const body of others) faults = await emulator.call('POST faults', answeredFaults, { body })
  return faults
}

function formatFaults({ answers, deliveries }: Faults): string {
  const { fail, duplicate, shuffle, latencyMs } = deliveries
  const rows = [
    ...answers.map(({ answer, count, delayMs }) => [
      'API',
      `${answer === 'slow' ? `an answer after ${showTime(delayMs)}` : answer}, ${count} times`,
    ]),
    ...(fail > 0 ? [['deliveries', `${fail} of the attempts are lost`]] : []),
    ...(duplicate > 0 ? [['deliveries', `${duplicate} of the attempts are sent twice`]] : []),
    ...(shuffle ? [['deliveries', 'in any order']] : []),
    ...(latencyMs ? [['deliveries', `after ${latencyMs.map(showTime).join(' to ')}`]] : []),
  ]
  return rows.length === 0 ? 'no faults' : formatTable(['ON', 'FAULT'], rows)
}

function examples(...lines: readonly string[]): string {
  return `
Exit codes: 0 done, 2 usage, 3 no emulator there, 130 interrupted.

Examples:
${lines.map((line) => `  $ postern faults ${line}`).join('\n')}`
}

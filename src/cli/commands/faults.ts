import { type Command, Option } from 'commander'
import type * as z from 'zod'
import { faults as faultsAnswer } from '../../emulator/contract.ts'
import { showDuration } from '../../host/duration.ts'
import { readLatency, readShare } from '../input/emulator-options.ts'
import { readCount, readDuration } from '../input/read-option.ts'
import { defined, type Io, usageError, writeJson } from '../io.ts'
import { formatTable } from '../output/print-table.ts'
import { addEmulatorUrl, connectToEmulator, type EmulatorUrlOptions } from '../service/emulator-client.ts'
import { addGroup } from './add-group.ts'

interface SetOptions extends EmulatorUrlOptions {
  readonly answer?: string
  readonly count?: number
  readonly delay?: number
  readonly fail?: number
  readonly duplicate?: number
  readonly shuffle?: true
  readonly latency?: string | readonly [string, string]
}

type Faults = z.output<typeof faultsAnswer>

/** `postern faults …`: the faults of a running emulator. */
export function addFaults(program: Command, io: Io): void {
  const addToGroup = addGroup(program, 'faults', {
    description: 'Let deliveries and calls of a running emulator go wrong, or right again.',
    notes: 'Exit codes: 0 done, 2 usage, 3 no emulator there, 130 interrupted.',
    examples: ['show', 'set --answer 429 --count 3'],
  })
  const add: typeof addToGroup = (...args) =>
    addEmulatorUrl(addToGroup(...args)).option('--json', 'print one JSON object to standard output')
  const show = (faults: Faults, { json }: EmulatorUrlOptions) => {
    if (json) writeJson(io, faults)
    else io.stdout.write(`${formatFaults(faults)}\n`)
  }

  add('show', 'The faults in force.', 'show').action(async (options: EmulatorUrlOptions) => {
    const emulator = await connectToEmulator(options, io)
    show((await emulator.readState()).faults, options)
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
    .option('--delay <time>', 'how long a slow answer takes (default: 5s)', readDuration)
    .option('--fail <share>', 'lose so many attempts before they are sent: 0.2', readShare)
    .option('--duplicate <share>', 'send so many attempts twice: 0.1', readShare)
    .option('--shuffle', 'deliver in any order')
    .option('--latency <time>', 'wait before each attempt: 200ms, or 50-500ms', readLatency)
    .action(async (options: SetOptions) => {
      const bodies = toBodies(options)
      const emulator = await connectToEmulator(options, io)
      for (const body of bodies) await emulator.call('POST faults', faultsAnswer, { body })
      show((await emulator.readState()).faults, options)
    })
  add('clear', 'As they were when the emulator was started.', 'clear').action(async (options: EmulatorUrlOptions) => {
    const emulator = await connectToEmulator(options, io)
    show(await emulator.call('DELETE faults', faultsAnswer), options)
  })
}

/** Returns one body for the fault of the API and one for those of deliveries, as far as they were given. */
function toBodies(options: SetOptions): readonly object[] {
  const { answer, count, delay: delayMs, fail, duplicate, shuffle, latency } = options
  const deliveries = defined({ fail, duplicate, shuffle, latency })
  if (answer === undefined && (count !== undefined || delayMs !== undefined))
    throw usageError('--count and --delay are for --answer.')
  const bodies = [
    ...(answer === undefined ? [] : [{ answer, ...defined({ count, delayMs }) }]),
    ...(Object.keys(deliveries).length === 0 ? [] : [{ deliveries }]),
  ]
  if (bodies.length > 0) return bodies
  throw usageError('Give --answer, or one of --fail, --duplicate, --shuffle and --latency.')
}

function formatFaults({ answers, deliveries }: Faults): string {
  const { fail, duplicate, shuffle, latencyMs } = deliveries
  const rows = [
    ...answers.map(({ answer, count, delayMs }) => [
      'API',
      `${answer === 'slow' ? `an answer after ${showDuration(delayMs)}` : answer}, ${count} times`,
    ]),
    ...(fail > 0 ? [['deliveries', `${fail} of the attempts are lost`]] : []),
    ...(duplicate > 0 ? [['deliveries', `${duplicate} of the attempts are sent twice`]] : []),
    ...(shuffle ? [['deliveries', 'in any order']] : []),
    ...(latencyMs ? [['deliveries', `after ${latencyMs.map(showDuration).join(' to ')}`]] : []),
  ]
  return rows.length === 0 ? 'no faults' : formatTable(['ON', 'FAULT'], rows)
}

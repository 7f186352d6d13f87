import { once } from 'node:events'
import type { Command } from 'commander'
import { ASSUMPTIONS } from '../../emulator/assumptions.ts'
import {
  addEmulatorOptions,
  countPending,
  type EmulatorCommandOptions,
  inspectorOf,
  openEmulator,
} from '../input/emulator-options.ts'
import { ExitError, emit, type Io } from '../io.ts'
import { createDeliveryDisplay } from '../output/attempt-line.ts'
import { describeInbox } from '../service/late-inbox.ts'
import { addCommand } from './add-group.ts'

interface EmulatorCliOptions extends EmulatorCommandOptions {
  readonly assumptions?: true
}

/** `postern emulator`: the service without a webhook, for CI and for clients of its API. */
export function addEmulator(program: Command, io: Io): void {
  const command = addCommand(
    program,
    'emulator',
    'Start the service itself on this machine, with its API and its signed deliveries.',
    'Ctrl-C ends it, with a summary and exit code 130; 3 where it cannot start.',
    'postern emulator --retry-scale 600 --account umbrella:eve@umbrella.test:password',
    'postern emulator --port 0 --json --data emulator.db',
  )
  addEmulatorOptions(command)
    .option('--assumptions', 'print what is assumed where the text of the service is silent, and start nothing')
    .action(async (options: EmulatorCliOptions) => {
      if (options.assumptions) emit(io, ASSUMPTIONS, listAssumptions())
      else await serve(options, io)
    })
}

async function serve(options: EmulatorCommandOptions, io: Io): Promise<never> {
  await using emulator = await openEmulator(options, io)
  const display = createDeliveryDisplay(options, io)
  const stop = emulator.subscribe(display.show)
  const accounts = emulator.accounts.list().map(({ key, email }) => `${key} (${email})`)
  const [url, inspector] = [emulator.url, inspectorOf(emulator)]
  const inbox = options.inbox === undefined ? '' : `\ninbox      ${await describeInbox(options.inbox)}`
  const text = `emulator   ${url}   accounts ${accounts.join(', ')}${inbox}\ninspector  ${inspector}`
  emit(io, { type: 'ready', url, inspector }, text, io.stderr)
  if (!io.interrupt.aborted) await once(io.interrupt, 'abort')
  stop()
  display.finish(countPending(emulator))
  throw new ExitError('interrupted')
}

function listAssumptions(): string {
  return Object.entries(ASSUMPTIONS)
    .map(([name, { id, subject, default: usual, values }]) => {
      const lines = Object.entries(values).map(
        ([value, text]) => `  ${value === usual ? '*' : ' '} ${value.padEnd(20)} ${text}`,
      )
      return [`${id}  ${name}  ${subject}`, ...lines].join('\n')
    })
    .join('\n')
}

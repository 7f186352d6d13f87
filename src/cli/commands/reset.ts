import type { Command } from 'commander'
import { mustBeMeant } from '../input/confirm.ts'
import { EXIT, type Finish, type Io } from '../io.ts'
import { state } from '../service/emulator-answers.ts'
import { addEmulatorUrl, connectToEmulator, type EmulatorUrlOptions } from '../service/emulator-client.ts'

interface ResetOptions extends EmulatorUrlOptions {
  readonly yes?: true
  readonly json?: true
}

/** `postern reset`: a running emulator as it was when it started. */
export function addReset(program: Command, io: Io, finish: Finish): void {
  const command = program
    .command('reset')
    .description('Empty a running emulator: webhooks, records, deliveries, faults, and accounts that were added.')
  addEmulatorUrl(command)
    .option('--yes', 'do not ask')
    .option('--json', 'print one JSON object to standard output')
    .addHelpText('after', EXAMPLES)
    .action(async ({ yes, json, ...options }: ResetOptions) => {
      const emulator = await connectToEmulator(options, io)
      if (!yes) await mustBeMeant(`All webhooks, records and deliveries of ${emulator.url} would be lost.`, io)
      await emulator.call('POST reset', state, { body: {} })
      if (json) io.stdout.write(`${JSON.stringify({ url: emulator.url, isReset: true })}\n`)
      else io.stderr.write(`the emulator at ${emulator.url} is empty\n`)
      finish(EXIT.done)
    })
}

const EXAMPLES = `
Exit codes: 0 done, 1 answered no, 2 usage, or no terminal to ask at, 3 no emulator there, 130 interrupted.

Examples:
  $ postern reset --yes
  $ postern reset --yes --json`

import type { Command } from 'commander'
import { EXIT, ExitError, type Finish, type Io } from '../io.ts'
import { addEventOptions, type EventOptions, makeEvents } from '../make-events.ts'
import { readCount, readRate } from '../read-option.ts'
import { addSecretOptions, readSecret, type SecretOptions } from '../secret.ts'
import { sendDirectly } from '../send-directly.ts'
import { readTargetUrl } from '../target-url.ts'

interface TriggerOptions extends EventOptions, SecretOptions {
  readonly to: string
  readonly duplicate: number
  readonly concurrent: number
  readonly rate?: number
  readonly shuffle?: true
  readonly json?: true
  readonly yes?: true
}

/** More would need another tool: all events are made first, and each is shown. */
const MOST = 100_000

/** `postern trigger`: makes events of a type, with data of one's choice. */
export function addTrigger(program: Command, io: Io, finish: Finish): void {
  const command = program
    .command('trigger')
    .description('Make events of a type, and send them to a receiver.')
    .argument('<type>', 'contact.created, finance.payment.failed, {model}.updated …')
    .requiredOption('--to <url>', 'the receiver')
  addEventOptions(command)
    .option('--duplicate <n>', 'send each event so many times', readCount, 1)
    .option('--concurrent <n>', 'send so many at the same time', readCount, 1)
    .option('--rate <n>', 'send so many a second', readRate)
    .option('--shuffle', 'send them in any order')
    .option('--json', 'one JSON object a line to standard output')
    .option('--yes', 'send also to a host that is not this machine')
  addSecretOptions(command)
    .addHelpText('after', EXAMPLES)
    .action(async (type: string, options: TriggerOptions) => {
      const url = readTargetUrl(options.to, '--to', options.yes === true)
      if (options.count * options.duplicate > MOST)
        throw new ExitError(EXIT.usage, `--count times --duplicate is more than ${MOST}.`)
      if (options.data === '-' && options.secretStdin)
        throw new ExitError(
          EXIT.usage,
          'Standard input holds either the secret or the data: take a file for one of them.',
        )
      const secret = await readSecret(options, io)
      finish(await sendDirectly(url, await makeEvents(type, options, io), { ...options, secret }, io))
    })
}

const EXAMPLES = `
Exit codes: 0 all acknowledged, 1 some not, 2 usage, 3 nothing answers there, 130 interrupted.

Examples:
  $ postern trigger contact.created --set data.record.email=zoe@example.test --to http://localhost:3000/hooks
  $ postern trigger finance.payment.failed --duplicate 3 --concurrent 3 --to http://localhost:3000/hooks --secret-file secret.txt`

import type { Command } from 'commander'
import type { WebhookEvent } from '../../../src/protocol/events.ts'
import { SIGNATURE_NAME } from '../../../src/protocol/signature-name.ts'
import type { Attempt } from '../../testing/attempt.ts'
import { createSender } from '../../testing/sender.ts'
import { urlTarget } from '../../testing/url-target.ts'
import { toConnectionFailure } from '../../wire/connection-failure.ts'
import { showTarget } from '../../wire/target.ts'
import { addEventOptions, type EventOptions, makeEvents } from '../input/make-events.ts'
import { durationOption, readCount, readRate, readTargetUrl, signatureHeaderOption } from '../input/read-option.ts'
import { addSecretOptions, readSecret, type SecretOptions } from '../input/secret.ts'
import { ExitError, emit, endIfInterrupted, type Io, tell, usageError } from '../io.ts'
import { createAttemptPrinter, type ShownAttempt } from '../output/attempt-line.ts'
import { addEmulatorUrl, connectToEmulator, type EmulatorUrlOptions } from '../service/emulator-client.ts'
import { type Pace, sendAll } from '../service/send-all.ts'
import { triggerEmulator } from '../service/trigger-emulator.ts'
import { addCommand } from './add-group.ts'

interface TriggerOptions extends EventOptions, SecretOptions, EmulatorUrlOptions, Pace {
  readonly to?: string
  readonly signatureHeader: string
  readonly duplicate: number
  readonly watch?: true
  readonly timeout: number
  readonly yes?: true
}

const MOST = 100_000

/** `postern trigger`: makes events of a type. */
export function addTrigger(program: Command, io: Io): void {
  const command = addCommand(
    program,
    'trigger',
    'Let events of a type occur: in a running emulator, or straight to a receiver.',
    'Exit codes: 0 done, 1 something was not acknowledged, 2 usage, 3 nothing answers there, 5 not done in time, 130 interrupted.',
    'postern trigger contact.created --set data.record.email=zoe@example.test --watch',
    'postern trigger finance.payment.failed --duplicate 3 --concurrent 3 --to http://localhost:3000/webhooks --secret-env WEBHOOK_SECRET',
  ).argument('<type>', 'contact.created, finance.payment.failed, {model}.updated …')
  addEmulatorUrl(command)
    .option('--watch', 'wait for the deliveries, and show their attempts; exit 1 where one failed')
    .addOption(durationOption('--timeout <time>', 'how long that may take', 60_000, '60s'))
    .option('--to <url>', 'send straight to this receiver, by the secret, without an emulator')
  addEventOptions(command)
    .option('--duplicate <n>', 'send each event so many times', readCount, 1)
    .option('--concurrent <n>', 'send so many at the same time', readCount, 1)
    .option('--rate <n>', 'send so many a second', readRate)
    .option('--shuffle', 'send them in any order')
    .option('--json', 'one JSON object a line to standard output')
    .option('--yes', 'send also to a host that is not this machine')
  addSecretOptions(command)
    .addOption(signatureHeaderOption())
    .action((type: string, options: TriggerOptions) => trigger(type, options, io))
}

async function trigger(type: string, options: TriggerOptions, io: Io): Promise<void> {
  const { to, yes = false } = options
  mustFit(options)
  if (to === undefined) {
    const events = await makeEvents(type, options, io)
    const isTimed =
      options.late !== undefined || options.set?.some((setting) => setting.startsWith('timestamp=')) === true
    return triggerEmulator(await connectToEmulator(options, io), events, { ...options, isTimed }, io)
  }
  const target = readTargetUrl(to, '--to', yes)
  const secret = await readSecret(options, io)
  return sendDirectly(target, await makeEvents(type, options, io), { ...options, secret }, io)
}

function mustFit({ to, emulator, watch, signatureHeader, ...options }: TriggerOptions): void {
  const { count, duplicate, data, secretStdin } = options
  if (to !== undefined && (emulator !== undefined || watch))
    throw usageError('--emulator and --watch are for an emulator, which --to goes without.')
  if (to === undefined && signatureHeader !== SIGNATURE_NAME)
    throw usageError('--signature-header is for --to: an emulator is started with it, as npx postern dev is.')
  if (count * duplicate > MOST) throw usageError(`--count times --duplicate is more than ${MOST}.`)
  if (data === '-' && secretStdin)
    throw usageError('Standard input holds either the secret or the data: take a file for one of them.')
}

/** Sends events straight to a receiver, one attempt for each copy, and shows each. */
async function sendDirectly(
  url: URL,
  events: readonly WebhookEvent[],
  options: Pace & { readonly duplicate: number; readonly secret: string; readonly signatureHeader: string },
  io: Io,
): Promise<void> {
  const { secret, signatureHeader, duplicate } = options
  const target = urlTarget(url)
  const sender = createSender({
    secret,
    signatureHeader,
    target: { send: (request) => target.send({ ...request, signal: AbortSignal.any([request.signal, io.interrupt]) }) },
  })
  const inOrder = events.flatMap((event) =>
    Array.from({ length: duplicate }, (_, index) => ({ event, copy: index + 1 })),
  )
  const tally = { sent: 0, acknowledged: 0, unanswered: 0, cutOff: 0 }
  const print = createAttemptPrinter(signatureHeader, io)
  emit(io, { type: 'ready', to: showTarget(url) })

  const send = async ({ event: { id: eventId, type: eventType }, event, copy }: (typeof inOrder)[number]) => {
    const attempt = toShown(await sender.send(event))
    if (io.interrupt.aborted && attempt.status === undefined) {
      tally.cutOff++
      return
    }
    tally.sent++
    if (attempt.failure === undefined) tally.acknowledged++
    if (attempt.status === undefined) tally.unanswered++
    print({ eventId, eventType }, attempt, url, { step: duplicate > 1 ? `copy ${copy}` : '' }, { copy })
  }
  await sendAll(inOrder, send, { ...options, signal: io.interrupt })

  const { sent, acknowledged, unanswered, cutOff } = tally
  emit(io, { type: 'summary', sent, acknowledged, failed: sent - acknowledged, ...(cutOff > 0 && { cutOff }) })
  const start = io.interrupt.aborted ? 'interrupted: ' : ''
  const rest = cutOff > 0 ? `; ${cutOff} cut off, which may have arrived` : ''
  tell(io, `${start}${sent} sent, ${acknowledged} acknowledged${rest}`)
  endIfInterrupted(io)
  if (unanswered === sent) throw new ExitError('unreachable')
  if (acknowledged < sent) throw new ExitError('failed')
}

function toShown({ body, failure, error, ...attempt }: Attempt): ShownAttempt {
  const isCut = failure === 'connection' && error instanceof Error
  return { ...attempt, responseBody: body, failure: isCut ? toConnectionFailure(error).kind : failure }
}

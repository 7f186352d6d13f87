import type { WebhookEvent } from '../../protocol/events.ts'
import type { Attempt } from '../../testing/attempt.ts'
import { createSender } from '../../testing/sender.ts'
import { urlTarget } from '../../testing/url-target.ts'
import { toConnectionFailure } from '../../wire/connection-failure.ts'
import { showTarget } from '../../wire/target.ts'
import { EXIT, ExitError, endIfInterrupted, hasColour, type Io, writeJson } from '../io.ts'
import { createHints, formatAttempt, type ShownAttempt, toRecord } from '../output/attempt-line.ts'
import { type SendingOptions, sendAll, shuffle } from './send-all.ts'

/** Sends events straight to a receiver, one attempt for each copy, and shows each. */
export async function sendDirectly(
  url: URL,
  events: readonly WebhookEvent[],
  options: SendingOptions & { readonly secret: string },
  io: Io,
): Promise<void> {
  const { secret, duplicate, concurrent: concurrency, rate } = options
  const target = urlTarget(url)
  const sender = createSender({
    secret,
    target: { send: (request) => target.send({ ...request, signal: AbortSignal.any([request.signal, io.interrupt]) }) },
  })
  const inOrder = events.flatMap((event) =>
    Array.from({ length: duplicate }, (_, index) => ({ event, copy: index + 1 })),
  )
  const tally = { sent: 0, acknowledged: 0, unanswered: 0 }
  const giveHint = createHints(io)
  if (options.json) writeJson(io, { type: 'ready', to: showTarget(url) })

  const send = async ({ event: { id: eventId, type: eventType }, event, copy }: (typeof inOrder)[number]) => {
    const attempt = toShown(await sender.send(event))
    if (io.interrupt.aborted && attempt.status === undefined) return
    tally.sent++
    if (attempt.failure === undefined) tally.acknowledged++
    if (attempt.status === undefined) tally.unanswered++
    const step = duplicate > 1 ? `copy ${copy}` : ''
    if (options.json) writeJson(io, toRecord({ eventId, eventType }, attempt, { copy }))
    else io.stdout.write(`${formatAttempt({ eventId, eventType }, attempt, { step }, hasColour(io, io.stdout))}\n`)
    giveHint(attempt, url)
  }
  const all = options.shuffle ? shuffle(inOrder, Math.random) : inOrder
  await sendAll(all, send, { concurrency, rate, signal: io.interrupt })

  const { sent, acknowledged, unanswered } = tally
  if (options.json) writeJson(io, { type: 'summary', sent, acknowledged, failed: sent - acknowledged })
  io.stderr.write(`${io.interrupt.aborted ? 'interrupted: ' : ''}${sent} sent, ${acknowledged} acknowledged\n`)
  endIfInterrupted(io)
  if (unanswered === sent) throw new ExitError(EXIT.unreachable)
  if (acknowledged < sent) throw new ExitError(EXIT.failed)
}

function toShown({ body, failure, error, ...attempt }: Attempt): ShownAttempt {
  const isCut = failure === 'connection' && error instanceof Error
  return { ...attempt, responseBody: body, failure: isCut ? toConnectionFailure(error).kind : failure }
}

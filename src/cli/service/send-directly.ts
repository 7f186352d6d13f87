import type { WebhookEvent } from '../../protocol/events.ts'
import type { Attempt } from '../../testing/attempt.ts'
import { createSender } from '../../testing/sender.ts'
import { urlTarget } from '../../testing/url-target.ts'
import { readCode } from '../../wire/code-word.ts'
import { toConnectionFailure } from '../../wire/connection-failure.ts'
import { showTarget } from '../../wire/target.ts'
import { EXIT, ExitError, endIfInterrupted, hasColour, type Io, writeJson } from '../io.ts'
import { createHints, formatAttempt } from '../output/attempt-line.ts'
import { sendAll, shuffle } from './send-all.ts'

export interface DirectOptions {
  readonly secret: string
  readonly duplicate: number
  readonly concurrent: number
  readonly rate?: number
  readonly shuffle?: true
  readonly json?: true
}

interface Sending {
  readonly event: WebhookEvent
  readonly copy: number
}

/** Sends events straight to a receiver, one attempt for each copy, and shows each. */
export async function sendDirectly(
  url: URL,
  events: readonly WebhookEvent[],
  options: DirectOptions,
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
  const write = options.json ? toJson(io) : toLines(io, duplicate)
  if (options.json) writeJson(io, { type: 'ready', to: showTarget(url) })

  const send = async (sending: Sending) => {
    const attempt = await sender.send(sending.event)
    if (io.interrupt.aborted && attempt.status === undefined) return
    tally.sent++
    if (attempt.failure === undefined) tally.acknowledged++
    if (attempt.status === undefined) tally.unanswered++
    write(sending, attempt)
    if (attempt.failure !== undefined) giveHint(toResult(attempt), url)
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

type Write = (sending: Sending, attempt: Attempt) => void

function toLines(io: Io, duplicate: number): Write {
  return ({ event, copy }, attempt) => {
    const line = formatAttempt(
      {
        at: attempt.at,
        type: event.type,
        eventId: event.id,
        step: duplicate > 1 ? `copy ${copy}` : '',
        result: toResult(attempt),
        isAcknowledged: attempt.failure === undefined,
        durationMs: attempt.durationMs,
        note: readCode(attempt.body) ?? '',
      },
      hasColour(io, io.stdout),
    )
    io.stdout.write(`${line}\n`)
  }
}

function toJson(io: Io): Write {
  return ({ event, copy }, attempt) => {
    const isAcknowledged = attempt.failure === undefined
    const line = {
      type: 'attempt',
      at: new Date(attempt.at).toISOString(),
      eventId: event.id,
      eventType: event.type,
      copy,
      isAcknowledged,
      status: attempt.status ?? null,
      error: attempt.status === undefined ? toResult(attempt) : null,
      code: readCode(attempt.body),
      durationMs: Math.round(attempt.durationMs * 10) / 10,
    }
    writeJson(io, line)
  }
}

/** Returns the status, or a word for why there is none. */
function toResult({ status, failure, error }: Attempt): string {
  if (status !== undefined) return String(status)
  if (failure !== 'connection') return failure ?? ''
  return error instanceof Error ? toConnectionFailure(error).kind : 'connection'
}

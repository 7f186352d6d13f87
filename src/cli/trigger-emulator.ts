import { setTimeout as sleep } from 'node:timers/promises'
import type { WebhookEvent } from '../protocol/events.ts'
import { standAfter, toLine, toRecord, toResult } from './delivery-line.ts'
import type { EmulatorClient, EmulatorState, WatchedDelivery } from './emulator-client.ts'
import { findHint } from './hints.ts'
import { EXIT, hasColour, type Io } from './io.ts'
import { formatAttempt } from './print-attempt.ts'
import { sendAll, shuffle } from './send-all.ts'
import { showTime } from './show-time.ts'

export interface EmulatedOptions {
  /** The events happened when they say, and not when they reach the emulator. */
  readonly isTimed: boolean
  readonly duplicate: number
  readonly concurrent: number
  readonly rate?: number
  readonly shuffle?: true
  readonly watch?: true
  readonly timeout: number
  readonly json?: true
}

/** How often deliveries that are not done are looked at. */
const POLL_MS = 50

/**
 * Lets events occur in an emulator, and shows what becomes of their deliveries where that is asked for.
 *
 * @returns the exit code
 */
export async function triggerEmulator(
  emulator: EmulatorClient,
  events: readonly WebhookEvent[],
  options: EmulatedOptions,
  io: Io,
): Promise<number> {
  const { json, concurrent: concurrency, rate, duplicate, isTimed, watch } = options
  const print = (record: object, line: string) => io.stdout.write(`${json ? JSON.stringify(record) : line}\n`)
  if (json) io.stdout.write(`${JSON.stringify({ type: 'ready', emulator: emulator.url })}\n`)
  const state = await emulator.readState()
  const watched: string[] = []
  const emit = async (event: WebhookEvent) => {
    const { timestamp, ...untimed } = event
    const deliveries = await emulator.emit(isTimed ? event : untimed, duplicate)
    watched.push(...deliveries)
    const { id: eventId, type: eventType } = event
    const count = deliveries.length === 1 ? '1 delivery' : `${deliveries.length} deliveries`
    if (json || !watch) print({ type: 'event', eventId, eventType, deliveries }, `${eventId}  ${eventType}  ${count}`)
  }
  const all = options.shuffle ? shuffle(events, Math.random) : events
  await sendAll(all, emit, { concurrency, rate, signal: io.interrupt })
  if (watched.length === 0 && !io.interrupt.aborted) io.stderr.write(`${tellWhyNone(events, state)}\n`)
  if (!watch) return io.interrupt.aborted ? EXIT.interrupted : EXIT.done
  return watchDeliveries(emulator, watched, state, options, io)
}

function tellWhyNone(events: readonly WebhookEvent[], { webhooks }: EmulatorState): string {
  const type = events[0]?.type
  return webhooks.length === 0
    ? 'The emulator has no webhook, so nothing is delivered. Register one, or start it as postern dev --forward URL.'
    : `No active webhook of that account asks for ${type}, so nothing is delivered. postern dev takes --events ${type}.`
}

async function watchDeliveries(
  emulator: EmulatorClient,
  ids: readonly string[],
  state: EmulatorState,
  { timeout, json }: EmulatedOptions,
  io: Io,
): Promise<number> {
  const hints = new Set<string>()
  const open = new Map(ids.map((id) => [id, 0]))
  const ended: WatchedDelivery[] = []
  const show = (delivery: WatchedDelivery, from: number) => {
    for (const [index, attempt] of delivery.attempts.entries()) {
      if (index < from) continue
      const then = standAfter(delivery, delivery.attempts, index)
      const text = json
        ? JSON.stringify(toRecord(then, attempt))
        : formatAttempt(toLine(then, attempt, state.retryScale), hasColour(io, io.stdout))
      io.stdout.write(`${text}\n`)
      const hint = attempt.failure && findHint(toResult(attempt), new URL(attempt.url))
      if (hint !== undefined && !hints.has(hint)) io.stderr.write(`${hint}\n`)
      if (hint !== undefined) hints.add(hint)
    }
  }
  const deadline = performance.now() + timeout
  while (open.size > 0 && !io.interrupt.aborted && performance.now() < deadline) {
    for (const [id, shown] of open) {
      const delivery = await emulator.readDelivery(id)
      show(delivery, shown)
      open.set(id, delivery.attempts.length)
      if (delivery.status === 'pending') continue
      open.delete(id)
      ended.push(delivery)
    }
    if (open.size > 0) await sleep(POLL_MS, undefined, { signal: io.interrupt }).catch(ignore)
  }
  const succeeded = ended.filter(({ status }) => status === 'success').length
  const failed = ended.length - succeeded
  if (json) io.stdout.write(`${JSON.stringify({ type: 'summary', succeeded, failed, pending: open.size })}\n`)
  io.stderr.write(
    `${io.interrupt.aborted ? 'interrupted: ' : ''}${succeeded} acknowledged, ${failed} failed, ${open.size} pending\n`,
  )
  if (io.interrupt.aborted) return EXIT.interrupted
  if (open.size > 0) {
    const why = state.isManual
      ? 'The clock of this emulator stands still: move it (key n in postern dev).'
      : 'Attempts go on in the emulator; watch longer with --timeout 3h, or start it with --retry-scale 600.'
    io.stderr.write(`Not done after ${showTime(timeout)}. ${why}\n`)
    return EXIT.gaveUp
  }
  return failed > 0 || ids.length === 0 ? EXIT.failed : EXIT.done
}

const ignore = () => {}

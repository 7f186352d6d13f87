import { setTimeout as sleep } from 'node:timers/promises'
import { showDuration } from '../../../src/host/duration.ts'
import type { WebhookEvent } from '../../../src/protocol/events.ts'
import { delivery, emitted } from '../../emulator/contract.ts'
import { inspectorOf } from '../input/emulator-options.ts'
import { ExitError, emit, endIfInterrupted, type Io, tell } from '../io.ts'
import { createDeliveryPrinter, standAfter } from '../output/attempt-line.ts'
import { toPrintable } from '../output/print-table.ts'
import type { EmulatorClient, EmulatorState } from './emulator-client.ts'
import { type Pace, sendAll } from './send-all.ts'

export interface EmulatedOptions extends Pace {
  readonly duplicate: number
  /** Keeps the times of the events. Otherwise they occur when they reach the emulator. */
  readonly isTimed: boolean
  readonly watch?: true
  readonly timeout: number
}

const POLL_MS = 50

/** Lets events occur in an emulator and, with `watch`, shows their deliveries. */
export async function triggerEmulator(
  emulator: EmulatorClient,
  events: readonly WebhookEvent[],
  options: EmulatedOptions,
  io: Io,
): Promise<void> {
  const { duplicate, isTimed, watch } = options
  emit(io, { type: 'ready', emulator: emulator.url })
  const state = await emulator.readState()
  const watched: string[] = []
  let occurred = 0
  const letOccur = async (event: WebhookEvent) => {
    const { id, type, timestamp, accountKey, data } = event
    const body = { id, type, accountKey, data, ...(isTimed && { timestamp }), count: duplicate }
    const deliveries = (await emulator.call('POST events', emitted, { body })).events.flatMap((each) => each.deliveries)
    occurred++
    watched.push(...deliveries)
    const [eventId, eventType] = [id, type]
    const count = deliveries.length === 1 ? '1 delivery' : `${deliveries.length} deliveries`
    const line = watch ? undefined : `${eventId}  ${eventType}  ${count}`
    emit(io, { type: 'event', eventId, eventType, deliveries }, line)
  }
  await sendAll(events, letOccur, { ...options, signal: io.interrupt }).catch((error: unknown) => {
    if (!io.interrupt.aborted && events.length > 1) tell(io, `${occurred} of ${events.length} events have occurred`)
    unlessInterrupted(io)(error)
    tell(io, 'An event was being sent: it may have occurred.')
  })
  if (watched.length === 0 && !io.interrupt.aborted) tell(io, tellWhyNone(events, state, emulator))
  if (watch) await watchDeliveries(emulator, watched, state, options, io)
  endIfInterrupted(io)
}

function tellWhyNone(events: readonly WebhookEvent[], { webhooks }: EmulatorState, emulator: EmulatorClient): string {
  const { type = '', accountKey } = events[0] ?? {}
  const paused = webhooks.find((each) => each.accountKey === accountKey && each.events.includes(type) && !each.active)
  // `postern webhooks resume` would need the address of this emulator, and the password of that account.
  if (paused !== undefined)
    return `Webhook ${toPrintable(paused.id)} subscribes to ${type} and is paused, so nothing is delivered. Resume it at ${inspectorOf(emulator)}`
  return webhooks.length === 0
    ? 'The emulator has no webhook, so nothing is delivered. Register one, or start it as npx postern dev --forward URL.'
    : `No active webhook of that account subscribes to ${type}, so nothing is delivered. npx postern dev takes --events ${type}.`
}

/** Shows attempts until no delivery is pending, the time is over, or Ctrl-C. */
async function watchDeliveries(
  emulator: EmulatorClient,
  ids: readonly string[],
  state: EmulatorState,
  { timeout }: EmulatedOptions,
  io: Io,
): Promise<void> {
  const print = createDeliveryPrinter(state.settings, io)
  const shown = new Map(ids.map((id) => [id, 0]))
  const tally = { succeeded: 0, failed: 0, gone: 0 }
  const deadline = performance.now() + timeout
  while (shown.size > 0 && !io.interrupt.aborted && performance.now() < deadline) {
    for (const [id, from] of shown) {
      const delivery = await readDelivery(emulator, id).catch(unlessInterrupted(io))
      if (io.interrupt.aborted) break
      if (delivery === undefined) {
        shown.delete(id)
        tally.gone++
        continue
      }
      const { attempts } = delivery
      for (const [index, attempt] of attempts.entries())
        if (index >= from) print(standAfter(delivery, attempts, index), attempt)
      shown.set(id, attempts.length)
      if (delivery.status === 'pending') continue
      shown.delete(id)
      tally[delivery.status === 'success' ? 'succeeded' : 'failed']++
    }
    if (shown.size > 0) await sleep(POLL_MS, undefined, { signal: io.interrupt }).catch(ignore)
  }
  const { succeeded, failed, gone } = tally
  const pending = shown.size
  emit(io, { type: 'summary', succeeded, failed, pending, gone })
  const begin = io.interrupt.aborted ? 'interrupted: ' : ''
  const end = gone === 0 ? '' : `, ${gone} gone: the emulator no longer has them, nor their results`
  tell(io, `${begin}${succeeded} acknowledged, ${failed} failed, ${pending} pending${end}`)
  endIfInterrupted(io)
  if (ids.length === 0 || (failed + gone > 0 && pending === 0)) throw new ExitError('failed')
  if (pending === 0) return
  tell(io, `Not done after ${showDuration(timeout)}. ${state.clock.isManual ? standsStill(emulator) : GOES_ON}`)
  throw new ExitError('gave_up')
}

/** Returns undefined if the emulator has dropped the delivery. */
async function readDelivery(emulator: EmulatorClient, id: string) {
  try {
    return await emulator.call(`GET deliveries/${encodeURIComponent(id)}`, delivery)
  } catch (error) {
    if (error instanceof ExitError && error.code === 'failed') return undefined
    throw error
  }
}

function standsStill(emulator: EmulatorClient): string {
  return `The clock of this emulator stands still: move it at ${inspectorOf(emulator)}, or by key n in postern dev.`
}

const GOES_ON =
  'The emulator continues its attempts; watch longer with --timeout 3h, or start it with --retry-scale 600.'

/** Ignores errors after Ctrl-C, so that the summary is printed. */
function unlessInterrupted({ interrupt }: Io): (error: unknown) => undefined {
  return (error) => {
    if (!interrupt.aborted) throw error
    return undefined
  }
}

const ignore = () => {}

import { manualClock, silentLogger } from 'postern/testing'
import type { DeliveryAttempt, FailureKind, StoredDelivery } from '../../tools/emulator/delivery.ts'
import { DeliveryLog } from '../../tools/emulator/delivery-log.ts'
import { assumeAll } from '../../tools/emulator/dialects.ts'
import { Engine } from '../../tools/emulator/engine.ts'
import { newDelivery } from '../../tools/emulator/events.ts'
import { createFaults } from '../../tools/emulator/faults.ts'
import { createFeed, type FeedMessage } from '../../tools/emulator/feed.ts'
import { openJournal } from '../../tools/emulator/journal.ts'
import type { DeliveryFaults } from '../../tools/emulator/options.ts'
import { fail } from '../../tools/emulator/post.ts'
import { createIds, createRandom } from '../../tools/emulator/random.ts'
import { createWebhooks } from '../../tools/emulator/webhooks.ts'

interface Options {
  readonly assume?: Readonly<Record<string, string>>
  readonly faults?: Partial<DeliveryFaults>
  readonly maxInFlight?: number
  readonly maxInFlightPerWebhook?: number
  /** Ends attempts by itself: with the failures in turn, the last one repeatedly. Default: the test ends them. */
  readonly results?: readonly (FailureKind | undefined)[]
}

interface Made {
  readonly id: string
  readonly url: string
  readonly after: number
  readonly signal: AbortSignal
  end(failure?: FailureKind): Promise<void>
}

/** Lets everything happen that needs no time. */
const settle = async () => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** An engine whose attempts are recorded, and end when the test says so. */
export function makeEngine({ assume = {}, faults: given = {}, results, ...limits }: Options = {}) {
  const clock = manualClock('2026-01-01T00:00:00Z')
  const begin = clock.now()
  const journal = openJournal()
  const feed = createFeed(silentLogger)
  const messages: FeedMessage[] = []
  feed.subscribe((message) => messages.push(message))
  const assumed = assumeAll('default', assume)
  const ids = createIds(createRandom('ids'), 'hex')
  const webhooks = createWebhooks({ journal, clock, ids, assumed, feed })
  const log = new DeliveryLog(journal, { kept: 1_000, pending: 1_000, bytes: 1e9 })
  const none = { fail: 0, duplicate: 0, shuffle: false, latencyMs: undefined }
  const faults = createFaults(createRandom('faults'), { ...none, ...given })
  const attempts: Made[] = []
  const attempt = (delivery: StoredDelivery, { url }: { url: string }, signal: AbortSignal) =>
    new Promise<DeliveryAttempt>((resolve) => {
      const about = { number: delivery.attempts.length + 1, url, at: clock.now(), durationMs: 0 }
      const end = (failure?: FailureKind) => {
        const succeeded = { status: 200, failure: undefined, error: undefined, responseHeaders: {}, responseBody: '' }
        resolve({ ...about, ...(failure === undefined ? succeeded : fail(failure, 'it failed')) })
        return settle()
      }
      attempts.push({ id: delivery.id, url, after: clock.now() - begin, signal, end })
      if (results !== undefined) end(results[Math.min(attempts.length, results.length) - 1])
    })
  const engine = new Engine({
    clock,
    assumed,
    log,
    webhooks,
    faults,
    feed,
    attempt,
    retryScale: 1,
    maxInFlight: 64,
    maxInFlightPerWebhook: 8,
    ...limits,
  })
  const register = (url = 'http://localhost/') => webhooks.create('acme', { url, events: ['a.b'] }).id
  let count = 0
  const add = (webhookId: string, number = 1): readonly StoredDelivery[] => {
    const webhook = webhooks.get('acme', webhookId)
    const added = Array.from({ length: number }, () => {
      const id = `d${++count}`
      return newDelivery(webhook, {
        id,
        eventId: id,
        eventType: 'a.b',
        createdAt: clock.now(),
        bytes: new Uint8Array(),
      })
    })
    log.add(added)
    return added
  }
  const emit = (webhookId: string, number = 1) => {
    const added = add(webhookId, number)
    engine.schedule(added)
    return added
  }
  const advance = async (by: number | string) => {
    await clock.advance(by)
    await settle()
  }
  const setActive = (id: string, active: boolean) => {
    webhooks.update('acme', id, { active })
    if (active) engine.resume()
  }
  const ended = () => attempts.map(({ id }) => id)
  return {
    engine,
    begin,
    webhooks,
    log,
    faults,
    messages,
    attempts,
    register,
    add,
    emit,
    advance,
    setActive,
    ended,
  }
}

/** Returns the first, which there must be. */
export const only = <T>([first]: readonly T[]): T => {
  if (first === undefined) throw new Error('there is one')
  return first
}

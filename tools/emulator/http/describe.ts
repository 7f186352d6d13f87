import { parseJson } from '../../../src/protocol/parse-json.ts'
import { readCode } from '../../wire/code-word.ts'
import type {
  AttemptDetail,
  ClockShape,
  DeliveryDetail,
  DescribedDelivery,
  EmulatorState,
  Row,
  WebhookShape,
} from '../contract.ts'
import type { AttemptPhases, DeliveryAttempt, EmulatorDelivery, StoredDelivery } from '../delivery.ts'
import type { FeedMessage } from '../feed.ts'
import { adviseOn } from '../inspector/advice.ts'
import { reasonOf } from '../inspector/reason.ts'
import type { Service } from '../service.ts'
import type { Webhook } from '../webhooks.ts'

export function describeDelivery({ attempts, ...delivery }: EmulatorDelivery): DescribedDelivery {
  const { id, accountKey, webhookId, eventId, eventType, status, isInFlight, resendOf, signing, note } = delivery
  return {
    id,
    accountKey,
    webhookId,
    eventId,
    eventType,
    status,
    isInFlight,
    signing,
    resendOf,
    note,
    createdAt: writeTime(delivery.createdAt),
    nextAttemptAt: writeDue(delivery.nextAttemptAt),
    attempts: attempts.map(describeAttempt),
  }
}

function describeAttempt(attempt: DeliveryAttempt): AttemptDetail {
  return {
    ...attempt,
    at: writeTime(attempt.at),
    durationMs: Math.round(attempt.durationMs),
    phases: attempt.phases && roundAll(attempt.phases),
  }
}

/** Describes a delivery as a line of the page's list, without bodies and headers, so that ten thousand can be sent. */
export function describeRow(
  { settings, webhooks }: Pick<Service, 'settings' | 'webhooks'>,
  delivery: StoredDelivery,
): Row {
  const { id, made, change, attempts, status, bytes, signing, resendOf = null, note = null, nextAttemptAt } = delivery
  const last = attempts.at(-1)
  const url = last?.url ?? webhooks.find(delivery.webhookId)?.url ?? ''
  const row = {
    id,
    made,
    change,
    account: delivery.accountKey,
    webhook: delivery.webhookId,
    event: delivery.eventId,
    type: delivery.eventType,
    status,
    signing,
    resendOf,
    note,
    at: writeTime(delivery.createdAt),
    nextAt: writeDue(nextAttemptAt),
    times: attempts.map(({ durationMs }) => Math.round(durationMs)),
    record: recordOf(bytes),
    reason: last ? reasonOf(last) : null,
    inbox: (settings.inbox && delivery.standing) ?? null,
    last:
      last === undefined
        ? null
        : {
            result: last.status === undefined ? (last.failure ?? '') : String(last.status),
            code: readCode(last.responseBody),
            isAcknowledged: last.failure === undefined,
            at: writeTime(last.at),
          },
  }
  return { ...row, advice: adviseOn(row, url, settings, last?.responseBody) ?? null }
}

const LONGEST_ID = 100
/** Bodies above it are not searched for the record. */
const LONGEST_SEARCHED = 64 * 1_024
const known = new WeakMap<Uint8Array, string | null>()

/** Id of the record of an event; null if its body names none. */
function recordOf(bytes: Uint8Array): string | null {
  const before = known.get(bytes)
  if (before !== undefined) return before
  const { data } = Object(bytes.length > LONGEST_SEARCHED ? null : parseJson(Buffer.from(bytes).toString()))
  const id: unknown = Object(Object(data).record)._id
  const record = typeof id === 'string' ? id.slice(0, LONGEST_ID) : null
  known.set(bytes, record)
  return record
}

export function describeMessage(message: FeedMessage) {
  switch (message.type) {
    case 'delivery':
      return { ...message, delivery: describeDelivery(message.delivery) }
    case 'attempt':
      return {
        ...message,
        delivery: describeDelivery(message.delivery),
        attempt: describeAttempt(message.attempt),
      }
    case 'clock':
      return { ...message, now: writeTime(message.now) }
    default:
      return message
  }
}

export function describeClock({ clock, engine }: Service): ClockShape {
  return {
    isManual: clock.isManual,
    now: writeTime(clock.now()),
    nextDueAt: writeDue(engine.nextDueAt),
    inFlight: engine.inFlight,
  }
}

export function describeState(service: Service): EmulatorState {
  const { settings, accounts, webhooks, records, log, bootId } = service
  const { retryScale, deadlineMs, signatureHeader, dialect, assumed } = settings
  return {
    bootId,
    clock: describeClock(service),
    accounts: accounts.list().map(({ key, email }) => ({ key, email })),
    webhooks: webhooks.list().map(describeWebhook),
    counts: { records: records.count(), deliveries: log.size, pending: log.pendingCount },
    faults: describeFaults(service),
    settings: { retryScale, deadlineMs, signatureHeader, dialect },
    assumed,
    hasInbox: settings.inbox !== undefined,
  }
}

export function describeFaults({ faults: { answers, deliveries } }: Service): EmulatorState['faults'] {
  return { answers, deliveries }
}

export function describeWebhook({ secret: _secret, ...shown }: Webhook): WebhookShape {
  return shown
}

export function describeBody({ bytes }: { readonly bytes: Uint8Array }): DeliveryDetail['body'] {
  const buffer = Buffer.from(bytes)
  return { base64: buffer.toString('base64'), text: buffer.toString() }
}

/** Writes a time as every message of the control interface has it. */
export function writeTime(ms: number): string {
  return new Date(ms).toISOString()
}

function writeDue(ms: number | undefined): string | null {
  return ms === undefined ? null : writeTime(ms)
}

function roundAll(phases: AttemptPhases): AttemptPhases {
  return Object.fromEntries(Object.entries(phases).map(([name, ms]) => [name, Math.round(ms * 10) / 10]))
}

import type { AttemptPhases, Delivery } from '../delivery.ts'
import { LIMITS, type Service } from '../service.ts'
import type { Webhook } from '../webhooks.ts'

/** Describes a delivery with everything except its body. */
export function describeDelivery({ attempts, ...delivery }: Delivery): object {
  const { id, accountKey, webhookId, eventId, eventType, status, isInFlight, resendOf, signing, note } = delivery
  return {
    ...{ id, accountKey, webhookId, eventId, eventType, status, isInFlight, signing },
    ...(resendOf !== undefined && { resendOf }),
    ...(note !== undefined && { note }),
    createdAt: toIso(delivery.createdAt),
    nextAttemptAt: toIso(delivery.nextAttemptAt),
    attempts: attempts.map((attempt) => ({
      ...attempt,
      at: toIso(attempt.at),
      durationMs: Math.round(attempt.durationMs),
      ...(attempt.phases !== undefined && { phases: roundAll(attempt.phases) }),
    })),
  }
}

export function describeClock({ clock, engine }: Service): object {
  return {
    isManual: clock.isManual,
    now: toIso(clock.now()),
    nextDueAt: toIso(engine.nextDueAt),
    inFlight: engine.inFlight,
  }
}

/** Describes the whole state of the emulator, without secrets and passwords. */
export function describeState(service: Service): object {
  const { settings, accounts, webhooks, records, log, faults, bootId } = service
  const { retryScale, deadlineMs, tokenTtlMs, rateLimit, loginRateLimit, format, dialect, assumed } = settings
  return {
    bootId,
    clock: describeClock(service),
    accounts: accounts.list().map(({ key, email }) => ({ key, email })),
    webhooks: webhooks.list().map(describeWebhook),
    counts: { records: records.size, deliveries: log.size, pending: log.pendingCount },
    faults: { answers: faults.answers, deliveries: faults.deliveries },
    settings: { retryScale, deadlineMs, tokenTtlMs, rateLimit, loginRateLimit, format, dialect },
    assumed,
    hasInbox: settings.inbox !== undefined,
    limits: LIMITS,
  }
}

/** Describes a registration without its secret. */
export function describeWebhook({ secret: _secret, ...shown }: Webhook): object {
  return shown
}

/** Rounds times to a tenth of a millisecond. */
function roundAll(phases: AttemptPhases): object {
  return Object.fromEntries(Object.entries(phases).map(([name, ms]) => [name, Math.round(ms * 10) / 10]))
}

function toIso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

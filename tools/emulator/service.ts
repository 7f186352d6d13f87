import { type Accounts, createAccounts } from './accounts.ts'
import { createClock } from './clock.ts'
import type { Core } from './core.ts'
import { createDeliveryActions } from './delivery-actions.ts'
import { DeliveryLog } from './delivery-log.ts'
import { Engine } from './engine.ts'
import { createEvents } from './events.ts'
import { createFaults } from './faults.ts'
import { createFeed, type Feed } from './feed.ts'
import { Standings } from './inspector/standings.ts'
import { type Journal, openJournal } from './journal.ts'
import { LIMITS } from './limits.ts'
import { createAttempts } from './make-attempt.ts'
import type { EmulatorSettings } from './options.ts'
import { createIds, createRandom } from './random.ts'
import { createRateLimiter } from './rate-limit.ts'
import { createRecords } from './records.ts'
import { Refusal } from './refusal.ts'
import { createTokens } from './tokens.ts'
import { createWebhooks, type Webhook } from './webhooks.ts'

export type Service = ReturnType<typeof createOn>

/** @throws PosternError `database_unusable` */
export function createService(settings: EmulatorSettings): Service {
  const journal = openJournal(settings.database)
  try {
    return createOn(journal, settings)
  } catch (error) {
    journal.close()
    throw journal.toDamage(error)
  }
}

function createOn(journal: Journal, settings: EmulatorSettings) {
  const { assumed, format, logger } = settings
  const boot = countBoot(journal)
  const random = createRandom(settings.seed === undefined ? undefined : `${settings.seed}:${boot}`)
  const ids = createIds(random, assumed.idForm)
  const feed = createFeed(logger)
  const clock = createSavedClock(journal, settings, feed, () => engine.nextDueAt)
  const accounts = seedAccounts(createAccounts(journal), settings)
  const tokens = createTokens({ clock, accounts, journal, ttlMs: settings.tokenTtlMs, assumed })
  const core: Core = { assumed, clock, feed, ids, journal }
  const webhooks = createWebhooks(core)
  const faults = createFaults(random, settings.faults)
  const { deliveriesKept: kept, deliveriesPending: pending, deliveryBytes: bytes } = LIMITS
  const log = new DeliveryLog(journal, { kept, pending, bytes })
  const standings = settings.inbox && new Standings(settings.inbox, { log, feed, journal })
  const engine = new Engine({
    ...core,
    log,
    webhooks,
    faults,
    attempt: createAttempts({ ...settings, clock, faults }),
    retryScale: settings.retryScale,
    maxInFlight: LIMITS.inFlight,
    maxInFlightPerWebhook: settings.ordered ? 1 : LIMITS.inFlightPerWebhook,
  })
  const parts = { ...core, webhooks, log, engine, format }
  const events = createEvents(parts)
  const records = createRecords(core, events.announce, () => webhooks.list().flatMap(({ events }) => events))
  const deliveries = createDeliveryActions(parts)
  const rate = createRateLimiter(clock, settings.rateLimit)
  const loginRate = createRateLimiter(clock, settings.loginRateLimit)
  return {
    settings,
    clock,
    accounts,
    tokens,
    webhooks,
    records,
    events,
    deliveries,
    log,
    standings,
    engine,
    faults,
    feed,
    rate,
    loginRate,
    /** Id of this run of the emulator. */
    bootId: random.hex(16),
    deleteWebhook(accountKey: string | undefined, id: string): Webhook {
      return webhooks.delete(accountKey, id, (write) => deliveries.endWebhook(id, write))
    },
    reset(): void {
      journal.together(() => {
        for (const kind of ['account', 'webhook', 'deleted-webhook', 'record', 'delivery'] as const) journal.clear(kind)
      })
      for (const part of [engine, log, webhooks, records, accounts, faults, rate, loginRate]) part.clear()
      seedAccounts(accounts, settings)
      feed.publish({ type: 'reset' })
    },
    /** Aborts attempts in progress, and releases the database. */
    async close(): Promise<void> {
      await engine.close()
      standings?.close()
      journal.close()
    },
  }
}

/** Makes the clock, whose time is written to the database: the next process goes on from there, or from the system time if that is later. */
function createSavedClock(
  journal: Journal,
  settings: EmulatorSettings,
  feed: Feed,
  nextDueAt: () => number | undefined,
) {
  // The clock has moved even if the write fails.
  const save = () => {
    try {
      journal.save('meta', CLOCK, clock.now())
    } catch (error) {
      if (error instanceof Refusal) return // closed
      feed.warn(`the time could not be written to the database: ${String(error)}`)
    }
  }
  const clock = createClock(settings.clock, Math.max(Date.now(), journal.loadMeta<number>(CLOCK) ?? 0), {
    nextDueAt,
    warn: feed.warn,
    onMove(now) {
      save()
      feed.publish({ type: 'clock', now })
    },
  })
  // If the process is killed while the clock moves, the next one must not start before attempts that were made.
  if (clock.isManual)
    feed.subscribe(({ type }) => {
      if (type === 'attempt') save()
    })
  return clock
}

const CLOCK = 'clock'
const BOOTS = 'boots'

function countBoot(journal: Journal): number {
  const boots = (journal.loadMeta<number>(BOOTS) ?? 0) + 1
  journal.save('meta', BOOTS, boots)
  return boots
}

function seedAccounts(accounts: Accounts, settings: EmulatorSettings): Accounts {
  for (const account of settings.accounts) accounts.seed(account)
  return accounts
}

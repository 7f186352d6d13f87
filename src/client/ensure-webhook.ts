import { FLAG, FUNCTION, type Kinds, OptionChecker, SIGNAL, TEXT } from '../protocol/option-checker.ts'
import type { CallOptions, Client } from './api.ts'
import { EVENT_TYPES, WEBHOOK_URL } from './create-client.ts'
import type { Webhook } from './records.ts'
import {
  isMade,
  isSameUrl,
  MAX_ROUNDS,
  oldestFirst,
  openRegistry,
  type Registrations,
  readReplaced,
  type SecretKeeper,
  toDescription,
} from './registrations.ts'
import { hasCode, ServiceError } from './service-error.ts'
import { CLIENT } from './settings.ts'

/** Options of `ensureWebhook`: the wanted webhook, and a function that saves its secret. */
export interface EnsureOptions extends SecretKeeper, CallOptions {
  readonly url: string
  /** Event types to subscribe to, such as `receiver.eventTypes().types`. */
  readonly events: readonly string[]
  /** Text of the description. The mark by which `ensureWebhook` knows its own webhooks is appended to it. */
  readonly description?: string | undefined
  /**
   * Deletes even an ACTIVE webhook of this URL whose secret is not saved, and creates a new one. Default false: another user or program
   * may own it, so the call rejects with `webhook_not_ours`.
   */
  readonly replaceActive?: boolean | undefined
}

/** The webhook that `ensureWebhook` found or created. */
export interface EnsuredWebhook {
  readonly webhook: Webhook
  readonly isNew: boolean
  /** Ids of webhooks that were deleted: their secret was not saved, or a concurrent run created another one. */
  readonly deleted: readonly string[]
}

const check = new OptionChecker('ensureWebhook')
const OPTIONS: Kinds<EnsureOptions> = {
  url: WEBHOOK_URL,
  events: EVENT_TYPES,
  description: TEXT,
  replaceActive: FLAG,
  hasSecret: FUNCTION,
  saveSecret: FUNCTION,
  signal: SIGNAL,
}
/** Number of times that a webhook is looked for and created again if the answer to its creation is lost. */
const MAX_FAILURES = 3

/**
 * Ensures that the URL has one active webhook whose secret is saved: creates it inactive, calls `saveSecret`, then activates it. Does
 * nothing if there is such a webhook. Can be repeated after a crash at any step: finds and deletes a webhook whose secret was not saved.
 * If several runs are concurrent, the oldest webhook stays; they need one store of secrets, and of those with separate ones all but one
 * get `webhook_not_ours`. Deletes only webhooks that it created, which it recognizes by the end of
 * their description.
 *
 * @throws ServiceError `webhook_not_ours`, `secret_not_saved`, `answer_unusable` if the service does not list the new webhook as it was
 *   created, and those of the calls; ConfigurationError `option_unknown`, `option_invalid`
 * @example
 * await ensureWebhook(client, {
 *   url: 'https://app.example.com/webhooks',
 *   events: receiver.eventTypes().types,
 *   hasSecret: (id) => secrets.has(id),
 *   saveSecret: (secret, { id }) => secrets.set(id, secret),
 * })
 */
export async function ensureWebhook(client: Client, options: EnsureOptions): Promise<EnsuredWebhook> {
  check.mustBe('client', client, CLIENT)
  check.mustFit(options, OPTIONS, ['url', 'events', 'hasSecret', 'saveSecret'])
  const { url, events, description, replaceActive = false } = options
  const registry = openRegistry(client, options)
  const made = new Set<string>()
  const deleted: string[] = []
  const drop = async ({ id }: Webhook) => {
    await registry.delete(id)
    deleted.push(id)
  }
  let failures = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await registry.find((webhook) => isSameUrl(webhook.url, url))
    const ours = pick(found)
    if (ours === undefined) {
      const foreign = found.unsaved.filter(({ active }) => active !== false)
      if (!replaceActive && foreign[0] !== undefined) throw notOurs(foreign[0], url)
      for (const webhook of foreign) await drop(webhook)
      try {
        const { id, isKept } = await registry.register({ url, events, description: toDescription(description) })
        made.add(id)
        if (!isKept) deleted.push(id)
      } catch (error) {
        if (!hasCode(error, 'outcome_unknown') || ++failures === MAX_FAILURES) throw error
      }
      continue // the list now shows if it was created, here or by a concurrent run
    }
    const rival = made.has(ours.id) && !replaceActive ? findRival(found, ours) : undefined
    if (rival !== undefined) {
      await drop(ours)
      throw notOurs(rival, url)
    }
    for (const webhook of findSpare(found, ours)) {
      // Another instance may have activated it meanwhile.
      const isIdle = webhook.active !== false || (await registry.read(webhook.id))?.active === false
      if (isIdle) await drop(webhook)
    }
    const webhook = await registry.correct(ours, { url, events, active: true })
    if (webhook === undefined || ours.active === false) continue
    const isNew = made.has(webhook.id)
    // Another instance may have read it as inactive, and deleted it since.
    if (!isNew || (await registry.read(webhook.id)) !== undefined) return { webhook, isNew, deleted }
  }
  const message = `The webhook of ${new URL(url).origin} did not stay active, though it was activated ${MAX_ROUNDS} times.`
  throw new ServiceError('answer_unusable', message, { route: 'PUT /api/integrations/webhooks' })
}

/** Picks the oldest of our webhooks, an active one if there is one. Skips a webhook that is about to be replaced. */
function pick({ saved }: Registrations): Webhook | undefined {
  const replaced = new Set(saved.map(readReplaced))
  const lasting = saved.filter(({ id }) => !replaced.has(id))
  return lasting.find(({ active }) => active === true) ?? lasting[0]
}

/** Lists further webhooks that we created: without a saved secret, or in a concurrent run. */
function findSpare({ saved, unsaved }: Registrations, ours: Webhook): readonly Webhook[] {
  const replaced = new Set(saved.map(readReplaced))
  const idle = unsaved.filter(({ active }) => active === false)
  return [...saved, ...idle].filter((each) => each.id !== ours.id && isMade(each) && !replaced.has(each.id))
}

/** Finds the active webhook of a concurrent run that keeps its secrets elsewhere: of two, the older stays. */
function findRival({ saved, unsaved }: Registrations, ours: Webhook): Webhook | undefined {
  const oldest = [...saved, ...unsaved].sort(oldestFirst)
  const isOlder = (webhook: Webhook) => oldest.indexOf(webhook) < oldest.indexOf(ours)
  return unsaved.find((webhook) => webhook.active === true && isMade(webhook) && isOlder(webhook))
}

function notOurs(webhook: Webhook, url: string): ServiceError {
  const cause = isMade(webhook)
    ? 'If another instance has just created it, all of them need one store of secrets, in which hasSecret finds those that the others saved.'
    : 'If it is yours, save its secret, delete it, or give replaceActive: true.'
  const message = `Webhook ${webhook.id} delivers to ${new URL(url).origin} already, and its secret is not saved here. ${cause}`
  return new ServiceError('webhook_not_ours', message, { route: 'GET /api/integrations/webhooks' })
}

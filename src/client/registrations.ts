import type { OptionChecker } from '../protocol/option-checker.ts'
import { show } from '../protocol/show.ts'
import type { CallOptions, Client, NewWebhook } from './api.ts'
import { readReplaced } from './marks.ts'
import type { Webhook } from './records.ts'
import { hasCode, ServiceError } from './service-error.ts'

/** Storage of signing secrets by the id of their webhook, provided by the user. */
export interface SecretKeeper {
  /** Returns true if the secret of this webhook is saved. */
  hasSecret(webhookId: string): boolean | Promise<boolean>
  /**
   * Saves a secret, which the service shows only once. When it resolves, every receiver must accept deliveries signed with it: they
   * begin immediately afterwards.
   */
  saveSecret(secret: string, webhook: Webhook): void | Promise<void>
}

/** Registrations with and without a saved secret, the oldest first. */
export interface Registrations {
  readonly saved: readonly Webhook[]
  readonly unsaved: readonly Webhook[]
}

/** Checks the keeper before a secret is created, which would be lost otherwise. */
export function checkKeeper(check: OptionChecker, { hasSecret, saveSecret }: SecretKeeper): void {
  for (const [name, value] of Object.entries({ hasSecret, saveSecret }))
    if (typeof value !== 'function') throw check.invalid(`${name} is ${show(value)}; give a function.`)
}

/** Number of times that a run reads the list again: concurrent runs change what the others have read. */
export const MAX_ROUNDS = 20

/** Number of times that a webhook is created if its saved secret is not found afterwards. */
const MAX_FORGOTTEN = 3

/** Detects a keeper that does not find the secrets it saved, before webhooks are created without end. */
export class ForgottenSecrets {
  #count = 0

  /** Returns true if the secret of a new webhook is saved. If not, deletes the webhook: no receiver could verify its deliveries. */
  async isKept(client: Client, webhook: Webhook, keeper: SecretKeeper, options: CallOptions): Promise<boolean> {
    if (await keeper.hasSecret(webhook.id)) return true
    await deleteIfThere(client, webhook.id, options)
    // Another run may have overwritten the secret with its own.
    if (++this.#count < MAX_FORGOTTEN) return false
    const message = `hasSecret does not know webhook ${webhook.id}, though saveSecret has just saved its secret. The webhook was deleted again.`
    throw new ServiceError('secret_not_saved', message, { route: 'POST /api/integrations/webhooks' })
  }
}

/** Finds the registrations of a URL. */
export function findRegistrations(
  client: Client,
  url: string,
  keeper: SecretKeeper,
  options: CallOptions,
): Promise<Registrations> {
  return find(client, (webhook) => webhook.url !== undefined && isSameUrl(webhook.url, url), keeper, options)
}

/** Finds the registrations created to replace a webhook. */
export function findSuccessors(
  client: Client,
  webhookId: string,
  keeper: SecretKeeper,
  options: CallOptions,
): Promise<Registrations> {
  return find(client, (webhook) => readReplaced(webhook) === webhookId, keeper, options)
}

/** Finds registrations. Some services omit the URL and other fields from the list; those webhooks are read one by one. */
async function find(
  client: Client,
  isWanted: (webhook: Webhook) => boolean,
  keeper: SecretKeeper,
  options: CallOptions,
): Promise<Registrations> {
  const saved: Webhook[] = []
  const unsaved: Webhook[] = []
  for (const listed of await client.webhooks.list(options)) {
    const webhook = listed.url === undefined ? await readIfThere(client, listed.id, options) : listed
    if (webhook === undefined || !isWanted(webhook)) continue
    if (await keeper.hasSecret(webhook.id)) saved.push(webhook)
    else unsaved.push(webhook)
  }
  return { saved: saved.sort(oldestFirst), unsaved: unsaved.sort(oldestFirst) }
}

/** Creates an inactive webhook, and calls `saveSecret`. If the secret cannot be saved, deletes the webhook, which is useless then. */
export async function register(
  client: Client,
  wanted: Omit<NewWebhook, 'active'>,
  keeper: SecretKeeper,
  options: CallOptions,
): Promise<Webhook> {
  const { webhook, secret } = await client.webhooks.create({ ...wanted, active: false }, options)
  try {
    await keeper.saveSecret(secret, webhook)
  } catch (error) {
    const isGone = await deleteIfThere(client, webhook.id, options).then(
      () => true,
      () => false,
    )
    const then = isGone ? 'was deleted again' : 'could not be deleted again: the next run does that'
    const message = `saveSecret failed for webhook ${webhook.id}, which ${then}. Its secret is lost.`
    const route = 'POST /api/integrations/webhooks'
    throw new ServiceError('secret_not_saved', message, { route }, { cause: without(secret, error) })
  }
  return webhook
}

/** Activates a webhook with these event types. Does nothing if it is active with them. Returns undefined if the webhook is gone. */
export async function activateIfThere(
  client: Client,
  webhook: Webhook,
  events: readonly string[],
  options: CallOptions,
): Promise<Webhook | undefined> {
  const areSame = webhook.events !== undefined && isSameSet(webhook.events, events)
  if (areSame && webhook.active === true) return webhook
  return ifThere(client.webhooks.update(webhook.id, { ...(!areSame && { events }), active: true }, options))
}

/** Deletes a webhook, if it still exists. */
export async function deleteIfThere(client: Client, id: string, options: CallOptions): Promise<void> {
  await ifThere(client.webhooks.delete(id, options))
}

/** Reads a webhook. Returns undefined if it is gone. */
export function readIfThere(client: Client, id: string, options: CallOptions): Promise<Webhook | undefined> {
  return ifThere(client.webhooks.get(id, options))
}

/** Returns the answer of a call, or undefined if its webhook is gone: another run may have deleted it. */
async function ifThere<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (hasCode(error, 'not_found')) return undefined
    throw error
  }
}

function isSameUrl(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.every((each) => other.includes(each)) && other.every((each) => one.includes(each))
}

/** Sorts the oldest first. Webhooks of the same time are sorted by id, so that every run picks the same one. */
function oldestFirst(one: Webhook, other: Webhook): number {
  const age = (one.createdAt?.getTime() ?? 0) - (other.createdAt?.getTime() ?? 0)
  return age === 0 ? (one.id < other.id ? -1 : 1) : age
}

/** Returns the user's error, unless it repeats the secret. */
function without(secret: string, error: unknown): unknown {
  if (!(error instanceof Error)) return undefined
  const texts = [error.message, error.stack, ...Object.values(error), error.cause].map(String)
  return texts.some((text) => text.includes(secret))
    ? new Error('the error repeated the secret, and is left out')
    : error
}

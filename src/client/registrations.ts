import type { OptionChecker } from '../protocol/option-checker.ts'
import { show } from '../protocol/show.ts'
import type { CallOptions, Client, NewWebhook } from './api.ts'
import { readReplaced } from './marks.ts'
import type { Webhook } from './records.ts'
import { hasCode, ServiceError } from './service-error.ts'

/** Where the owner keeps signing secrets: each under the id of its webhook. */
export interface SecretKeeper {
  /** Whether the secret of this webhook is saved. */
  hasSecret(webhookId: string): boolean | Promise<boolean>
  /**
   * Saves a secret, which is shown this once. When it resolves, every receiver has to take what is signed with it: deliveries begin
   * right after.
   */
  saveSecret(secret: string, webhook: Webhook): void | Promise<void>
}

/** Registrations, by whether their secret is saved. The oldest is first. */
export interface Registrations {
  readonly saved: readonly Webhook[]
  readonly unsaved: readonly Webhook[]
}

/** Refuses what could not keep a secret before one is made: it would be lost. */
export function checkKeeper(check: OptionChecker, { hasSecret, saveSecret }: SecretKeeper): void {
  for (const [name, value] of Object.entries({ hasSecret, saveSecret }))
    if (typeof value !== 'function') throw check.invalid(`${name} is ${show(value)}; give a function.`)
}

/** Several runs at the same time change what the others saw: each looks again this often. */
export const MAX_ROUNDS = 20

/** A webhook is made this often if its secret is not there after it was saved. */
const MAX_FORGOTTEN = 3

/** Tells of a keeper that does not find what it has saved, before webhooks are made without end. */
export class ForgottenSecrets {
  #count = 0

  /** Returns whether the secret of a new webhook is there. Deletes the webhook if not: nobody can check its deliveries. */
  async isKept(client: Client, webhook: Webhook, keeper: SecretKeeper, options: CallOptions): Promise<boolean> {
    if (await keeper.hasSecret(webhook.id)) return true
    await deleteIfThere(client, webhook.id, options)
    // Another run may have put its own in the same place.
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

/** Finds what was made to replace a webhook. */
export function findSuccessors(
  client: Client,
  webhookId: string,
  keeper: SecretKeeper,
  options: CallOptions,
): Promise<Registrations> {
  return find(client, (webhook) => readReplaced(webhook) === webhookId, keeper, options)
}

/** Lists of some services leave the URL out, and more; those are read one by one. */
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

/** Makes a webhook that does not deliver yet, and has its secret saved. One whose secret can't be saved is of no use, and deleted. */
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

/** Lets a webhook deliver, with these event types. Changes nothing if it does already. Returns undefined if the webhook is gone. */
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

/** Deletes a webhook that may be gone already. */
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

/** Of those of one moment every run picks the same. */
function oldestFirst(one: Webhook, other: Webhook): number {
  const age = (one.createdAt?.getTime() ?? 0) - (other.createdAt?.getTime() ?? 0)
  return age === 0 ? (one.id < other.id ? -1 : 1) : age
}

/** The owner's own error, unless it repeats the secret. */
function without(secret: string, error: unknown): unknown {
  if (!(error instanceof Error)) return undefined
  const texts = [error.message, error.stack, ...Object.values(error), error.cause].map(String)
  return texts.some((text) => text.includes(secret))
    ? new Error('the error repeated the secret, and is left out')
    : error
}

import type { Complete } from '../host/complete.ts'
import { isError } from '../protocol/show.ts'
import type { CallOptions, Client, NewWebhook, WebhookChanges } from './api.ts'
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

export interface Registrations {
  readonly saved: readonly Webhook[]
  readonly unsaved: readonly Webhook[]
}

/** Number of times that a run reads the list again: concurrent runs change what the others have read. */
export const MAX_ROUNDS = 20

/** Number of times that a webhook is created if its saved secret is not found afterwards. */
const MAX_FORGOTTEN = 3

export type Registry = ReturnType<typeof openRegistry>

/** Opens the webhooks of an account and their secrets, for one run. Concurrent runs may delete any webhook at any time. */
export function openRegistry({ webhooks }: Client, keeper: SecretKeeper & CallOptions) {
  const { signal } = keeper
  /** Id of the webhook that was created last, until the list was read again. */
  let created: string | undefined
  let forgotten = 0
  const read = (id: string) => ifThere(webhooks.get(id, { signal }))
  const remove = async (id: string) => void (await ifThere(webhooks.delete(id, { signal })))
  /** Deletes a new webhook that the list does not show as it was created: each round, and each run, would create another one. */
  const mustShowCreated = async (found: readonly Webhook[]) => {
    const id = created
    created = undefined
    if (id === undefined || found.some((webhook) => webhook.id === id)) return
    if ((await read(id)) === undefined) return // deleted, here or by another run
    await remove(id)
    const message = `The service does not list webhook ${id} with the url and the description that it was created with. It was deleted again.`
    throw new ServiceError('answer_unusable', message, { route: 'GET /api/integrations/webhooks' })
  }
  return {
    read,
    delete: remove,

    /**
     * Finds registrations. Some services omit the URL and other fields from the list; those webhooks are read one by one.
     *
     * @throws ServiceError `answer_unusable` if the webhook just created is not among them
     */
    async find(isWanted: (webhook: Webhook) => boolean): Promise<Registrations> {
      const saved: Webhook[] = []
      const unsaved: Webhook[] = []
      for (const listed of await webhooks.list({ signal })) {
        const webhook = listed.url === undefined ? await read(listed.id) : listed
        if (webhook !== undefined && isWanted(webhook))
          ((await keeper.hasSecret(webhook.id)) ? saved : unsaved).push(webhook)
      }
      await mustShowCreated([...saved, ...unsaved])
      return { saved: saved.sort(oldestFirst), unsaved: unsaved.sort(oldestFirst) }
    },

    /** Changes what differs from these values, and sends `active` along. Returns undefined if the webhook is gone. */
    async correct(webhook: Webhook, { url, events, active }: Complete<WebhookChanges>): Promise<Webhook | undefined> {
      const isThere = isSameUrl(webhook.url, url)
      const areSame = isSameSet(webhook.events ?? [], events)
      if (isThere && areSame && webhook.active === active) return webhook
      const changes = { ...(!isThere && { url }), ...(!areSame && { events }), active }
      return ifThere(webhooks.update(webhook.id, changes, { signal }))
    },

    /**
     * Creates an inactive webhook, and calls `saveSecret`. If its secret is not saved afterwards, deletes the webhook: no receiver could
     * verify its deliveries.
     */
    async register(wanted: Omit<NewWebhook, 'active'>): Promise<{ readonly id: string; readonly isKept: boolean }> {
      const { webhook, secret } = await webhooks.create({ ...wanted, active: false }, { signal })
      const { id } = webhook
      created = id
      try {
        await keeper.saveSecret(secret, webhook)
      } catch (error) {
        const then = await remove(id).then(
          () => 'was deleted again',
          () => 'could not be deleted again: the next run does that',
        )
        const message = `saveSecret failed for webhook ${id}, which ${then}. Its secret is lost.`
        throw notSaved(message, { cause: without(secret, error) })
      }
      if (await keeper.hasSecret(id)) return { id, isKept: true }
      await remove(id)
      forgotten++
      if (forgotten === MAX_FORGOTTEN)
        throw notSaved(
          `hasSecret does not know webhook ${id}, though saveSecret has just saved its secret. The webhook was deleted again.`,
        )
      return { id, isKept: false } // another run may have overwritten the secret with its own
    },
  }
}

// A mark at the end of its description identifies a webhook that this client created: no other field of a webhook holds free text. A
// list may hold webhooks of the same URL that others created, with other events.

const MARK = /(?:^| )\(postern(?:, replaces (\S+))?\)$/

/** Appends the mark of `ensureWebhook`, or of a rotation, to a description. Replaces an existing mark. */
export function toDescription(text: string | undefined, replaces?: string): string {
  const mark = replaces === undefined ? '(postern)' : `(postern, replaces ${replaces})`
  return `${(text ?? '').replace(MARK, '')} ${mark}`.trimStart()
}

export function isMade({ description }: Webhook): boolean {
  const match = MARK.exec(description ?? '')
  return match !== null && match[1] === undefined
}

/** Returns the id of the webhook that this one was created to replace, if any. */
export function readReplaced({ description }: Webhook): string | undefined {
  return MARK.exec(description ?? '')?.[1]
}

async function ifThere<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (hasCode(error, 'not_found')) return undefined
    throw error
  }
}

export function isSameUrl(one: string | undefined, other: string): boolean {
  return one !== undefined && URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.every((each) => other.includes(each)) && other.every((each) => one.includes(each))
}

/** Sorts the oldest first. Webhooks of the same time are sorted by id, so that every run picks the same one. */
export function oldestFirst(one: Webhook, other: Webhook): number {
  const age = (one.createdAt?.getTime() ?? 0) - (other.createdAt?.getTime() ?? 0)
  return age === 0 ? (one.id < other.id ? -1 : 1) : age
}

function notSaved(message: string, options?: ErrorOptions): ServiceError {
  return new ServiceError('secret_not_saved', message, { route: 'POST /api/integrations/webhooks' }, options)
}

/** Returns the user's error, unless it repeats the secret. */
function without(secret: string, error: unknown): unknown {
  if (!isError(error)) return undefined
  const texts = [error.message, error.stack, ...Object.values(error), error.cause].map(String)
  return texts.some((text) => text.includes(secret))
    ? new Error('the error repeated the secret, and is left out')
    : error
}

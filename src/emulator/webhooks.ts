import { randomBytes } from 'node:crypto'
import type { Clock } from '../host/clock.ts'
import { importSecret } from '../protocol/signature.ts'
import { findUrlProblem } from './addresses.ts'
import type { Assumed } from './assumptions.ts'
import type { Feed } from './feed.ts'
import type { Journal } from './journal.ts'
import type { Ids } from './random.ts'
import { Refusal } from './refusal.ts'
import { checkSubscription } from './subscription.ts'

/** A registration. Service text, section 2.3. */
export interface Webhook {
  readonly id: string
  readonly accountKey: string
  readonly url: string
  readonly events: readonly string[]
  readonly description: string | undefined
  /** Paused if false. Section 3.1. */
  readonly active: boolean
  readonly secret: string
  /** ISO 8601, UTC. */
  readonly createdAt: string
}

/** Fields of a registration, which an update may change. */
export interface WebhookFields {
  readonly url: string
  readonly events: readonly string[]
  readonly description?: string | undefined
  readonly active?: boolean | undefined
}

/** Fields that an update changes; undefined ones stay. */
export type WebhookChange = { readonly [Field in keyof WebhookFields]?: WebhookFields[Field] | undefined }

export interface WebhooksParts {
  readonly journal: Journal
  readonly clock: Pick<Clock, 'now'>
  readonly ids: Ids
  readonly assumed: Assumed
  readonly feed: Feed
  readonly maxPerAccount: number
}

/** The registrations of all accounts, and their states. */
export class Webhooks {
  readonly #byId = new Map<string, Webhook>()
  /** Deleted ones whose log is kept (A33), by id, with their account. */
  readonly #deleted = new Map<string, string>()
  readonly #parts: WebhooksParts

  constructor(parts: WebhooksParts) {
    this.#parts = parts
    // JSON leaves an undefined description out.
    for (const { id, value } of parts.journal.load<Webhook>('webhook'))
      this.#byId.set(id, { ...value, description: value.description })
    for (const { id, value } of parts.journal.load<string>('deleted-webhook')) this.#deleted.set(id, value)
  }

  find(id: string): Webhook | undefined {
    return this.#byId.get(id)
  }

  /** In order of creation; of all accounts if none is given. */
  list(accountKey?: string): readonly Webhook[] {
    return [...this.#byId.values()].filter((webhook) => accountKey === undefined || webhook.accountKey === accountKey)
  }

  get(accountKey: string, id: string): Webhook {
    const webhook = this.#byId.get(id)
    if (webhook === undefined) throw new Refusal('unknown', 'there is no such webhook')
    if (webhook.accountKey !== accountKey) throw new Refusal('of-another-account', 'there is no such webhook')
    return webhook
  }

  /** Whether the account may read the log of that webhook; refuses if not. */
  mustHaveLog(accountKey: string, id: string): void {
    if (this.#deleted.get(id) !== accountKey) this.get(accountKey, id)
  }

  /** @param secret if the emulator is not to choose it */
  create(accountKey: string, fields: WebhookFields, secret?: string): Webhook {
    const { clock, ids, assumed, maxPerAccount } = this.#parts
    if (this.list(accountKey).length >= maxPerAccount)
      throw new Refusal('invalid', `the emulator takes ${maxPerAccount} webhooks per account; delete some`)
    if (secret !== undefined) importSecret(secret)
    const webhook: Webhook = {
      id: ids.object(),
      accountKey,
      url: this.#checkUrl(fields.url),
      events: this.#checkEvents(fields.events),
      description: fields.description,
      active: fields.active ?? assumed.activeWhenOmitted === 'true',
      secret: secret ?? `whsec_${randomBytes(32).toString('base64url')}`,
      createdAt: new Date(clock.now()).toISOString(),
    }
    return this.#save(webhook, 'created')
  }

  update(accountKey: string, id: string, fields: WebhookChange): Webhook {
    const webhook = this.get(accountKey, id)
    const { url = webhook.url, events = webhook.events } = fields
    const isReplaced = this.#parts.assumed.updateFields === 'replace'
    const active = isReplaced ? this.#parts.assumed.activeWhenOmitted === 'true' : webhook.active
    const changed: Webhook = {
      ...webhook,
      url: url === webhook.url ? url : this.#checkUrl(url),
      events: events === webhook.events ? events : this.#checkEvents(events),
      description: fields.description ?? (isReplaced ? undefined : webhook.description),
      active: fields.active ?? active,
    }
    return this.#save(changed, 'updated')
  }

  /** @param endLog calls `write` in the same transaction as it writes what the deletion makes of the log, or throws and changes nothing */
  delete(accountKey: string, id: string, endLog: (write: () => void) => void): Webhook {
    const { journal, assumed, feed } = this.#parts
    const webhook = this.get(accountKey, id)
    const isLogKept = assumed.deletedLog === 'kept'
    endLog(() => {
      journal.remove('webhook', id)
      if (isLogKept) journal.save('deleted-webhook', id, accountKey)
    })
    if (isLogKept) this.#deleted.set(id, accountKey)
    this.#byId.delete(id)
    feed.publish({ type: 'webhook', change: 'deleted', webhookId: id, accountKey })
    return webhook
  }

  clear(): void {
    this.#byId.clear()
    this.#deleted.clear()
  }

  #save(webhook: Webhook, change: 'created' | 'updated'): Webhook {
    this.#parts.journal.save('webhook', webhook.id, webhook)
    this.#byId.set(webhook.id, webhook)
    this.#parts.feed.publish({ type: 'webhook', change, webhookId: webhook.id, accountKey: webhook.accountKey })
    return webhook
  }

  #checkUrl(url: string): string {
    const problem = findUrlProblem(url, this.#parts.assumed.urlRule)
    if (problem !== undefined) throw new Refusal('invalid', `url ${problem}`)
    return url
  }

  #checkEvents(events: readonly string[]): readonly string[] {
    return checkSubscription(events, this.#parts.assumed, (message) => this.#parts.feed.warn(message))
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, ClientOptions } from 'postern/client'
import { expect } from 'vitest'
import { clientOf, type Reply, type Seen, type Service, startService } from './support.ts'

export const URL_ = 'https://app.example.test/hooks'

interface StoredWebhook {
  readonly _id: string
  url: string
  events: readonly string[]
  active: boolean
  readonly description?: string
  readonly createdAt: string
  readonly secret: string
}

export interface StoredDelivery {
  readonly _id: string
  readonly eventId: string
  readonly eventType: string
  status: string
  attempts: number
  readonly createdAt: string
}

/** A service that keeps webhooks and their logs, as far as the client's helpers need one. */
export interface WebhookService extends Service {
  readonly webhooks: Map<string, StoredWebhook>
  readonly logs: Map<string, StoredDelivery[]>
  /** The effect of a retry: called with the line, which it changes. */
  onRetry: (delivery: StoredDelivery) => void
  /** Answers instead of the service if it returns an answer. Called after the request was processed. */
  onAnswer: (seen: Seen) => Reply | undefined
  add(webhook?: Partial<StoredWebhook>): StoredWebhook
  fail(webhookId: string, eventId: string, fields?: Partial<StoredDelivery>): StoredDelivery
}

export async function startWebhookService(): Promise<WebhookService> {
  const webhooks = new Map<string, StoredWebhook>()
  const logs = new Map<string, StoredDelivery[]>()
  let count = 0
  let made = 0
  const at = () => new Date(Date.UTC(2025, 0, 1) + count * 1_000).toISOString()

  const service = await startService((seen) => {
    const reply = carryOut(seen)
    return state.onAnswer(seen) ?? reply
  })

  function add(webhook: Partial<StoredWebhook> = {}): StoredWebhook {
    count++
    made++
    const stored = {
      _id: `w${made}`,
      url: URL_,
      events: ['contact.created'],
      active: true,
      createdAt: at(),
      secret: `whsec_${made}`,
      ...webhook,
    }
    webhooks.set(stored._id, stored)
    logs.set(stored._id, [])
    return stored
  }

  function fail(webhookId: string, eventId: string, fields: Partial<StoredDelivery> = {}): StoredDelivery {
    count++
    const line = {
      _id: `d${count}`,
      eventId,
      eventType: 'contact.created',
      status: 'failed',
      attempts: 5,
      createdAt: at(),
      ...fields,
    }
    logs.get(webhookId)?.unshift(line)
    return line
  }

  function carryOut({ method, path, query, body }: Seen): Reply {
    const [id, verb, deliveryId] = path.split('/').slice(4)
    if (id === undefined) {
      if (method === 'GET') return { body: query.has('page') ? [] : [...webhooks.values()].map(hide) }
      return { status: 201, body: add(JSON.parse(body)) }
    }
    const webhook = webhooks.get(id)
    if (webhook === undefined) return { status: 404, body: { message: 'no such webhook' } }
    if (verb === 'deliveries') {
      const log = logs.get(id) ?? []
      const start = log.findIndex(({ _id }) => _id === query.get('before')) + 1
      return { body: log.slice(start, start + 100) }
    }
    if (verb === 'retry') {
      const delivery = logs.get(id)?.find(({ _id }) => _id === deliveryId)
      if (delivery === undefined) return { status: 404 }
      if (delivery.status !== 'failed') return { status: 409 }
      state.onRetry(delivery)
      return { status: 202 }
    }
    if (method === 'PUT') Object.assign(webhook, JSON.parse(body))
    if (method === 'DELETE') {
      webhooks.delete(id)
      logs.delete(id)
    }
    return { body: hide(webhook) }
  }

  const state: WebhookService = {
    ...service,
    get logins() {
      return service.logins
    },
    webhooks,
    logs,
    add,
    fail,
    onRetry: (delivery) => {
      delivery.status = 'success'
      delivery.attempts++
    },
    onAnswer: () => undefined,
  }
  return state
}

const hide = ({ secret, ...webhook }: StoredWebhook) => webhook

/** Simulates a process that dies as soon as its n-th request was processed, or its n-th secret saved: nothing of it happens afterwards. */
export class Doomed {
  readonly client: Client
  readonly death = new Error('the process died')
  #left: number
  #steps = 0

  constructor(service: Service, stepsToLive: number, options: Partial<ClientOptions> = {}) {
    this.#left = stepsToLive
    this.client = clientOf(service, {
      maxRetries: 0,
      ...options,
      fetch: async (request) => {
        this.#mustLive()
        const response = await fetch(request)
        const whole = new Response(await response.text(), { status: response.status })
        return request.url.endsWith('/login') ? whole : this.step(whole)
      },
    })
  }

  get steps(): number {
    return this.#steps
  }

  step<T>(done: T): T {
    this.#mustLive()
    this.#steps++
    this.#left--
    this.#mustLive()
    return done
  }

  #mustLive(): void {
    if (this.#left <= 0) throw this.death
  }
}

/** Expects work to end with its signal, no matter which of its requests the service leaves without an answer. */
export async function expectEndAtAnyStep(
  service: WebhookService,
  reset: () => void,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const reason = new Error('enough')
  let calls = 0
  for (let step = 1; step <= calls + 1; step++) {
    reset()
    const controller = new AbortController()
    calls = 0
    service.onAnswer = () => {
      calls++
      if (calls !== step) return undefined
      setTimeout(() => controller.abort(reason), 5)
      return () => {}
    }
    const ended = work(controller.signal).then(
      () => 'finished',
      (error: unknown) => error,
    )
    const end = await Promise.race([ended, sleep(2_000, 'hangs')])
    expect(end, `request ${step}`).toBe(calls < step ? 'finished' : reason)
  }
}

/** Returns the events whose deliveries are retried from now on, each as it is retried. */
export function recordRetries(service: WebhookService): string[] {
  const retried: string[] = []
  const retry = service.onRetry
  service.onRetry = (delivery) => {
    retried.push(delivery.eventId)
    retry(delivery)
  }
  return retried
}

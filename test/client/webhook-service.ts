import type { Client, SecretKeeper } from 'postern/client'
import { expect } from 'vitest'
import { clientOf, type Seen, type Service, startService } from './support.ts'

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

/** A call of the service, except the login. */
type Call = Omit<Seen, 'authorization'>

/** An answer; a connection that ends without one; or none, until the call is aborted. */
type Reply =
  | { readonly status?: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | 'drop'
  | 'hang'

/** A service that keeps webhooks and their logs, as far as the client's helpers need one. It has no port: the tests of calls use HTTP. */
export interface WebhookService {
  readonly url: string
  readonly fetch: (request: Request) => Promise<Response>
  /** Method and path of each call. */
  readonly calls: string[]
  readonly webhooks: Map<string, StoredWebhook>
  readonly logs: Map<string, StoredDelivery[]>
  /** The effect of a retry: called with the line, which it changes. */
  onRetry: (delivery: StoredDelivery) => void
  /** Answers instead of the service if it returns an answer. Called after the request was processed. */
  onAnswer: (call: Call) => Reply | undefined | Promise<Reply>
  /** True if an active webhook that replaces another one has a successful delivery in its log. */
  isSuccessorProven: boolean
  add(webhook?: Partial<StoredWebhook>): StoredWebhook
  fail(webhookId: string, eventId: string, fields?: Partial<StoredDelivery>): StoredDelivery
}

export function makeWebhookService(): WebhookService {
  const webhooks = new Map<string, StoredWebhook>()
  const logs = new Map<string, StoredDelivery[]>()
  let count = 0
  let made = 0
  const at = () => new Date(Date.UTC(2025, 0, 1) + count * 1_000).toISOString()

  async function answer(request: Request): Promise<Response> {
    const { pathname: path, searchParams: query } = new URL(request.url)
    if (path.endsWith('/login')) return Response.json({ accessToken: 'token' })
    const call = { method: request.method, path, query, body: await request.text() }
    state.calls.push(`${call.method} ${path}`)
    const done = carryOut(call)
    const reply = (await state.onAnswer(call)) ?? done
    if (reply === 'hang') return new Promise(() => {}) // the client stops waiting by itself
    if (reply === 'drop') throw new TypeError('fetch failed')
    const { status = 200, headers = {}, body } = reply
    return new Response(JSON.stringify(body), { status, headers })
  }

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

  function carryOut({ method, path, query, body }: Call): Reply {
    const [id, verb, deliveryId] = path.split('/').slice(4)
    if (id === undefined) {
      if (method === 'GET') return { body: query.has('page') ? [] : [...webhooks.values()].map(hide) }
      return { status: 201, body: add(JSON.parse(body)) }
    }
    const webhook = webhooks.get(id)
    if (webhook === undefined) return { status: 404, body: { message: 'no such webhook' } }
    if (verb === 'deliveries') {
      const proof = { _id: `proof of ${id}`, status: 'success' }
      const isProven = state.isSuccessorProven && webhook.active && webhook.description?.includes('replaces')
      const log = [...(logs.get(id) ?? []), ...(isProven ? [proof] : [])]
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
    url: 'https://crm.example.test',
    fetch: answer,
    calls: [],
    webhooks,
    logs,
    add,
    fail,
    onRetry: (delivery) => {
      delivery.status = 'success'
      delivery.attempts++
    },
    onAnswer: () => undefined,
    isSuccessorProven: true,
  }
  return state
}

/** Starts such a service on a port of loopback. */
export async function startWebhookService(): Promise<WebhookService & Pick<Service, 'close'>> {
  const service = makeWebhookService()
  const inProcess = { ...service }
  const { url, close } = await startService(async ({ method, path, query, body }) => {
    const answer = await inProcess.fetch(
      new Request(`${inProcess.url}${path}?${query}`, { method, ...(body && { body }) }),
    )
    return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() }
  })
  return Object.assign(service, { url, fetch, close })
}

const hide = ({ secret, ...webhook }: StoredWebhook) => webhook

/** Keeps secrets in a map. `step` is called with each saved secret. */
export const keeperOf = (secrets: Map<string, string>, step = <T>(done: T) => done): SecretKeeper => ({
  hasSecret: (id) => secrets.has(id),
  saveSecret: (secret, { id }) => void step(secrets.set(id, secret)),
})

/** Simulates a process that dies as soon as its n-th request was processed, or its n-th secret saved: nothing of it happens afterwards. */
export class Doomed {
  readonly client: Client
  readonly death = new Error('the process died')
  #left: number
  #steps = 0

  constructor(service: WebhookService, stepsToLive: number) {
    this.#left = stepsToLive
    this.client = clientOf(service, {
      maxRetries: 0,
      fetch: async (request) => {
        this.#mustLive()
        const response = await service.fetch(request)
        return request.url.endsWith('/login') ? response : this.step(response)
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
      setImmediate(() => controller.abort(reason))
      return 'hang'
    }
    const end = await work(controller.signal).then(
      () => 'finished',
      (error: unknown) => error,
    )
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

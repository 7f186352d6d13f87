import { type RotateOptions, type Rotation, rotateWebhook } from 'postern/client'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { clientOf, failureOf, HastyClock } from './support.ts'
import {
  Doomed,
  expectEndAtAnyStep,
  keeperOf,
  makeWebhookService,
  recordRetries,
  URL_,
  type WebhookService,
} from './webhook-service.ts'

let service: WebhookService
let secrets: Map<string, string>
beforeEach(() => {
  service = makeWebhookService()
  secrets = new Map()
  addSaved()
})

/** Adds a webhook whose secret is saved. */
const addSaved = (fields: object = {}) => {
  const { _id, secret } = service.add(fields)
  secrets.set(_id, secret)
}
const rotate = (options: Partial<RotateOptions> = {}, clock = new HastyClock()) =>
  rotateWebhook(clientOf(service, { clock }), { webhookId: 'w1', ...keeperOf(secrets), ...options })
const idsOf = () => [...service.webhooks.keys()]

function expectOneSuccessor(active = true): void {
  const [webhook, ...others] = [...service.webhooks.values()]
  expect(others).toEqual([])
  expect(webhook).toMatchObject({ url: URL_, active, description: '(postern, replaces w1)' })
  expect(secrets.get(webhook?._id ?? '')).toBe(webhook?.secret)
}

describe('rotateWebhook', () => {
  it('creates a second webhook, lets both deliver, and deletes the first', async () => {
    const seen: (readonly [Rotation['state'], string[]])[] = []
    const clock = new HastyClock()
    clock.advance(86_400_000)
    const result = await rotate({ onProgress: ({ state }) => seen.push([state, idsOf()]) }, clock)
    expect(result).toMatchObject({ state: 'finished', webhook: { id: 'w2', active: true }, pending: 0, failed: 0 })
    expect(seen).toHaveLength(7) // one minute, every ten seconds
    for (const each of seen) expect(each).toEqual(['waiting', ['w1', 'w2']])
    expect(idsOf()).toEqual(['w2'])
    expect(service.webhooks.get('w2')).toMatchObject({ url: URL_, events: ['contact.created'], active: true })
    expect(secrets.get('w2')).toBe(service.webhooks.get('w2')?.secret)
  })

  it('deletes no webhook for one of which no delivery has succeeded', async () => {
    service.isSuccessorProven = false
    const seen: string[] = []
    const onProgress = ({ isProven, unsuccessful }: Rotation) => {
      seen.push(`${isProven} ${unsuccessful}`)
      if (seen.length === 2) service.fail('w2', 'e1', { status: 'pending', attempts: 1 })
    }
    expect(await rotate({ waitMs: 90_000, onProgress })).toMatchObject({
      state: 'waiting',
      isProven: false,
      pending: 0,
    })
    expect(seen).toEqual([...Array(2).fill('false 0'), ...Array(8).fill('false 1')]) // every ten seconds
    expect(await rotate({ waitMs: 0, giveUpFailed: true, overlapMs: 0 })).toMatchObject({ state: 'waiting' })
    expect(idsOf()).toEqual(['w1', 'w2'])
  })

  it.each(['success', 'zorp'])(
    'deletes the first once a delivery of the second has succeeded, in whatever word: %s',
    async (status) => {
      service.isSuccessorProven = false
      const line = service.fail('w1', 'e1', { status: 'success' })
      const seen: unknown[] = []
      const onProgress = ({ isProven }: Rotation) => {
        seen.push(isProven)
        if (seen.length === 20) service.logs.get('w2')?.push({ ...line, status, ...{ responseStatus: 204 } })
      }
      expect(await rotate({ onProgress })).toMatchObject({ state: 'finished', isProven: true })
      expect(seen).toEqual([...Array(20).fill(false), true])
      expect(idsOf()).toEqual(['w2'])
    },
  )

  it.each([
    { status: 'failed', responseStatus: 401 },
    { status: 'zorp', responseStatus: 301 },
    { status: 'zorp', responseStatus: 199 },
    { status: 'zorp' },
  ])('takes no delivery for a success that is none: %j', async (fields) => {
    service.isSuccessorProven = false
    await rotate({ waitMs: 0 })
    service.fail('w2', 'e1', fields)
    expect(await rotate({ waitMs: 0, overlapMs: 0 })).toMatchObject({ state: 'waiting', isProven: false })
  })

  it('does not wait for a success of the second while the first has failures, since it could not finish', async () => {
    service.isSuccessorProven = false
    service.fail('w1', 'e1')
    service.onRetry = (delivery) => void delivery.attempts++
    const onProgress = vi.fn()
    expect(await rotate({ overlapMs: 0, onProgress })).toMatchObject({ state: 'waiting', failed: 1, isProven: false })
    expect(onProgress).toHaveBeenCalledTimes(2)
  })

  it('waits for deliveries that only the first can make', async () => {
    const line = service.fail('w1', 'e1', { status: 'pending' })
    const pending: number[] = []
    const onProgress = (rotation: Rotation) => {
      pending.push(rotation.pending)
      if (pending.length === 10) line.status = 'success'
    }
    expect(await rotate({ onProgress })).toMatchObject({ state: 'finished' })
    expect(pending).toEqual([...Array.from({ length: 10 }, () => 1), 0])
  })

  it('waits no longer than its limit, and continues when it is called again', async () => {
    const line = service.fail('w1', 'e1', { status: 'pending' })
    expect(await rotate({ waitMs: 0 })).toMatchObject({ state: 'waiting', pending: 1, webhook: { id: 'w2' } })
    expect(idsOf()).toEqual(['w1', 'w2'])
    const clock = new HastyClock()
    clock.advance(86_400_000)
    const onProgress = vi.fn()
    expect(await rotate({ waitMs: 90_000, onProgress }, clock)).toMatchObject({ state: 'waiting' })
    expect(onProgress).toHaveBeenCalledTimes(10)
    line.status = 'success'
    expect(await rotate()).toMatchObject({ state: 'finished', webhook: { id: 'w2' } })
    expect(idsOf()).toEqual(['w2'])
  })

  it('does not wait for deliveries that the second makes as well', async () => {
    service.fail('w1', 'e1', { status: 'pending' })
    service.fail('w1', 'e2', { status: 'failed' })
    const onProgress = () => {
      if (service.logs.get('w2')?.length === 0)
        for (const [eventId, status] of [
          ['e1', 'success'],
          ['e2', 'pending'],
        ] as const)
          service.fail('w2', eventId, { status })
    }
    expect(await rotate({ onProgress })).toMatchObject({ state: 'finished', sharesEventIds: true })
  })

  it('does not treat an event that occurs while it reads the logs as one that only the first has', async () => {
    let isSent = false
    service.onAnswer = ({ path }) => {
      if (!isSent && path.endsWith('/deliveries')) for (const id of ['w1', 'w2']) service.fail(id, 'e1')
      if (path.endsWith('/deliveries')) isSent = true
      return undefined
    }
    const failed: number[] = []
    await rotate({ overlapMs: 0, onProgress: (rotation) => failed.push(rotation.failed) })
    expect(failed).toEqual([0])
  })

  it.each<[string, readonly (string | undefined)[], readonly (string | undefined)[], boolean | undefined]>([
    ['an event is in both logs', ['e1', 'e2'], ['e3', 'e2'], true],
    ['no event is in both logs', ['e1', undefined], ['e3', undefined], false],
    ['only the first log has events', ['e1'], [], undefined],
    ['only the second log has events', [], ['e1'], undefined],
    ['the logs tell no ids', [undefined], [undefined], undefined],
    ['the first log tells no ids', [undefined], ['e1'], undefined],
  ])('reports whether ids are shared if %s', async (_what, first, second, sharesEventIds) => {
    const send = (webhookId: string, ids: readonly (string | undefined)[]) => {
      for (const id of ids) service.fail(webhookId, id as string, { status: 'success' }) // undefined: left out
    }
    send('w1', first)
    const onProgress = () => {
      if (service.logs.get('w2')?.length === 0) send('w2', second)
    }
    expect(await rotate({ onProgress })).toMatchObject({ state: 'finished', sharesEventIds })
  })

  it('retries each failure once, including later ones', async () => {
    service.fail('w1', 'e1')
    service.onRetry = (delivery) => void delivery.attempts++
    const retried = recordRetries(service)
    let looks = 0
    const onProgress = () => {
      looks++
      if (looks === 3) service.fail('w1', 'e2')
    }
    expect(await rotate({ onProgress })).toMatchObject({ state: 'waiting', failed: 2 })
    expect(retried).toEqual(['e1', 'e2'])
  })

  it('does not delete a log with failures that no other webhook has, unless an option allows it', async () => {
    service.fail('w1', 'e1')
    service.onRetry = (delivery) => void delivery.attempts++
    expect(await rotate()).toMatchObject({ state: 'waiting', failed: 1, pending: 0 })
    expect(idsOf()).toEqual(['w1', 'w2'])
    expect(await rotate({ giveUpFailed: true })).toMatchObject({ state: 'finished', failed: 1 })
  })

  it('treats an unknown state as pending, until the schedule is over', async () => {
    service.fail('w1', 'e1', { status: 'zorp' })
    expect(await rotate()).toMatchObject({ state: 'finished' })
    service.fail('w2', 'e1', { status: 'zorp', createdAt: new Date().toISOString() })
    const { createdAt } = service.fail('w2', 'e2', { status: 'zorp' })
    expect(createdAt).toMatch(/^2025/)
    expect(await rotate({ webhookId: 'w2', waitMs: 0 })).toMatchObject({ state: 'waiting', pending: 1 })
    service.fail('w2', 'e3', { status: 'zorp', createdAt: undefined as never }) // left out
    expect(await rotate({ webhookId: 'w2', waitMs: 0 })).toMatchObject({ state: 'waiting', pending: 2 })
  })

  it('touches no other webhook of the same URL', async () => {
    addSaved({ events: ['finance.payment.failed'] })
    service.add({ active: false })
    expect(await rotate()).toMatchObject({ state: 'finished', webhook: { id: 'w4', events: ['contact.created'] } })
    expect(idsOf()).toEqual(['w2', 'w3', 'w4'])
    expect(service.webhooks.get('w2')).toMatchObject({ events: ['finance.payment.failed'], active: true })
    expect(secrets.get('w4')).toBe(service.webhooks.get('w4')?.secret)
  })

  it('copies the description, time and again', async () => {
    Object.assign(service.webhooks.get('w1') ?? {}, { description: 'orders' })
    await rotate()
    await rotate({ webhookId: 'w2' })
    expect(service.webhooks.get('w3')?.description).toBe('orders (postern, replaces w2)')
  })

  it('leaves a paused webhook paused, and does not wait for deliveries that it holds back', async () => {
    Object.assign(service.webhooks.get('w1') ?? {}, { active: false })
    const line = service.fail('w1', 'e1', { status: 'pending' })
    service.fail('w1', 'e2')
    const calls = service.calls.length
    expect(await rotate()).toMatchObject({ state: 'waiting', pending: 0, held: 1, failed: 1 })
    expect(service.calls.length - calls).toBeLessThan(12)
    expect(service.webhooks.get('w2')).toMatchObject({ active: false, events: ['contact.created'] })
    line.status = 'success'
    expect(await rotate({ giveUpFailed: true })).toMatchObject({ state: 'finished', webhook: { id: 'w2' } })
  })

  it('waits for a success of a second that was activated by hand while the first is paused', async () => {
    Object.assign(service.webhooks.get('w1') ?? {}, { active: false })
    service.isSuccessorProven = false
    addSaved({ description: '(postern, replaces w1)' })
    expect(await rotate()).toMatchObject({ state: 'waiting', isProven: false, webhook: { id: 'w2', active: true } })
    service.isSuccessorProven = true
    expect(await rotate()).toMatchObject({ state: 'finished', isProven: true })
  })

  it.each([true, false])(
    'moves the second webhook to the URL of a repeated call, if the first is active: %s',
    async (active) => {
      Object.assign(service.webhooks.get('w1') ?? {}, { active })
      service.fail('w1', 'e1', { status: 'pending' })
      for (const url of ['https://typo.example.test/hooks', 'https://new.example.test/hooks', undefined]) {
        const { webhook } = await rotate({ waitMs: 0, ...(url !== undefined && { url }) })
        expect(webhook).toMatchObject({ id: 'w2', url: url ?? URL_, active })
      }
      expect([...service.webhooks.values()]).toMatchObject([
        { _id: 'w1', url: URL_, active },
        { _id: 'w2', url: URL_, active },
      ])
    },
  )

  it('changes no URL that the service writes in another form', async () => {
    await rotate({ url: 'HTTPS://APP.example.test:443/hooks', waitMs: 0 })
    Object.assign(service.webhooks.get('w2') ?? {}, { url: URL_ })
    const calls = service.calls.length
    await rotate({ url: 'HTTPS://APP.example.test:443/hooks', waitMs: 0 })
    expect(service.calls.slice(calls).filter((call) => !call.startsWith('GET'))).toEqual([])
  })

  it('leaves an active successor alone whose secret is not saved here', async () => {
    service.add({ description: '(postern, replaces w1)' })
    expect(await rotate()).toMatchObject({ state: 'finished', webhook: { id: 'w3' } })
    expect(idsOf()).toEqual(['w2', 'w3'])
  })

  it.each([
    ['events', []],
    ['events', undefined],
    ['url', undefined],
  ])('refuses a webhook whose %s the service does not return: %j', async (name, value) => {
    Object.assign(service.webhooks.get('w1') ?? {}, { [name]: value })
    const message = expect.stringContaining(`${name} of webhook w1`)
    expect(await failureOf(rotate())).toMatchObject({ code: 'option_invalid', message })
    expect(idsOf()).toEqual(['w1'])
  })

  it('takes the URL of the call if the service does not return that of the first', async () => {
    Object.assign(service.webhooks.get('w1') ?? {}, { url: undefined })
    expect(await rotate({ url: URL_ })).toMatchObject({ state: 'finished', webhook: { url: URL_ } })
  })

  it.each<[string, readonly string[]]>([
    ['keep descriptions', ['w1', 'w2']],
    ['list it', ['w1']],
  ])('creates one webhook, and leaves none, if the service does not %s', async (_what, listed) => {
    service.onAnswer = ({ method, path }) => {
      if (method !== 'GET' || !path.endsWith('/webhooks')) return undefined
      const all = [...service.webhooks.values()].filter(({ _id }) => listed.includes(_id))
      return { body: all.map(({ description, secret, ...rest }) => rest) }
    }
    expect(await failureOf(rotate())).toMatchObject({
      code: 'answer_unusable',
      route: 'GET /api/integrations/webhooks',
    })
    expect(idsOf()).toEqual(['w1'])
  })

  it('has nothing left to do if it was finished', async () => {
    await rotate()
    expect(await rotate()).toMatchObject({ state: 'finished', webhook: { id: 'w2' } })
    expect(idsOf()).toEqual(['w2'])
  })

  it('fails if neither the webhook nor its successor is there, as with a mistyped id', async () => {
    expect(await failureOf(rotate({ webhookId: 'w7' }))).toMatchObject({
      code: 'not_found',
      route: 'GET /api/integrations/webhooks',
    })
    expect(idsOf()).toEqual(['w1'])
  })

  it('deletes nothing if the second does not become active', async () => {
    service.onAnswer = ({ method }) => (method === 'PUT' ? { body: { _id: 'w2', active: false } } : undefined)
    expect(await failureOf(rotate())).toMatchObject({
      code: 'answer_unusable',
      route: 'PUT /api/integrations/webhooks/w2',
    })
    expect(idsOf()).toEqual(['w1', 'w2'])
  })

  it('is ended by its signal at any step, even if the service hangs', async () => {
    const reset = () => {
      service.webhooks.clear()
      secrets.clear()
      addSaved({ _id: 'w1' })
      service.fail('w1', 'e1')
    }
    await expectEndAtAnyStep(service, reset, (signal) => rotate({ signal, overlapMs: 0 }))
  })

  it('can be repeated after a crash at any step', async () => {
    const countSteps = async (stepsToLive: number) => {
      const doomed = new Doomed(service, stepsToLive)
      const options = {
        webhookId: 'w1',
        overlapMs: 10_000,
        ...keeperOf(secrets, (done) => doomed.step(done)),
      }
      await rotateWebhook(doomed.client, options).catch(() => {})
      return doomed.steps
    }
    const steps = await countSteps(Number.POSITIVE_INFINITY)
    for (let step = 1; step <= steps; step++) {
      service.webhooks.clear()
      secrets.clear()
      addSaved({ _id: 'w1' })
      await countSteps(step)
      // Every active webhook has a saved secret, and one is active.
      const active = [...service.webhooks.values()].filter((webhook) => webhook.active)
      expect(active, `step ${step}`).not.toEqual([])
      expect(
        active.every(({ _id }) => secrets.has(_id)),
        `step ${step}`,
      ).toBe(true)
      expect(await rotate({ overlapMs: 0 })).toMatchObject({ state: 'finished' })
      expect(idsOf(), `step ${step}`).toHaveLength(1)
      expect(secrets.get(idsOf()[0] ?? '')).toBe([...service.webhooks.values()][0]?.secret)
    }
  })
  it.each([0, 10_000, 60_000])(
    'ends with one webhook even if five runs start at the same time, for %d ms',
    async (overlapMs) => {
      const all = await Promise.all([1, 2, 3, 4, 5].map(() => rotate({ overlapMs })))
      expectOneSuccessor()
      const [id] = [...service.webhooks.keys()]
      expect(all.map(({ state, webhook }) => [state, webhook.id])).toEqual(all.map(() => ['finished', id]))
    },
  )

  it('ends with one paused webhook if the first is paused', async () => {
    Object.assign(service.webhooks.get('w1') ?? {}, { active: false })
    await Promise.all([1, 2, 3, 4, 5].map(() => rotate()))
    expectOneSuccessor(false)
  })

  it('chooses the active successor, and deletes an older one that is not active', async () => {
    for (const active of [false, true]) addSaved({ description: '(postern, replaces w1)', active })
    expect(await rotate()).toMatchObject({ state: 'finished', webhook: { id: 'w3' } })
    expectOneSuccessor()
  })

  it('deletes no active successor, which may deliver events that no other does', async () => {
    for (const _time of [1, 2]) addSaved({ description: '(postern, replaces w1)' })
    expect(await rotate()).toMatchObject({ state: 'finished', webhook: { id: 'w2' } })
    expect([...service.webhooks.keys()]).toEqual(['w2', 'w3'])
  })

  it('is finished if another run deletes the first webhook while it waits', async () => {
    service.fail('w1', 'e1', { status: 'pending' })
    const result = await rotate({ onProgress: () => void service.webhooks.delete('w1') })
    expect(result).toMatchObject({ state: 'finished', webhook: { id: 'w2' } })
    expectOneSuccessor()
  })

  it('fails if the second webhook is gone as well', async () => {
    service.fail('w1', 'e1', { status: 'pending' })
    const onProgress = () => service.webhooks.clear()
    expect(await failureOf(rotate({ onProgress }))).toMatchObject({ code: 'not_found' })
  })

  it.each([{ pollMs: 0 }, { overlapMs: -1 }])('refuses %j before anything is created', async (wrong) => {
    expect(await failureOf(rotate(wrong))).toMatchObject({ code: 'option_invalid' })
    expect(service.calls).toEqual([])
  })
})

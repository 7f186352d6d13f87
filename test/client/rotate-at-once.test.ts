import { type RotateOptions, rotateWebhook, type SecretKeeper } from 'postern/client'
import { beforeEach, describe, expect, it } from 'vitest'
import { clientOf, failureOf, HastyClock } from './support.ts'
import { makeWebhookService, URL_, type WebhookService } from './webhook-service.ts'

let service: WebhookService
let secrets: Map<string, string>
beforeEach(() => {
  service = makeWebhookService()
  const { _id, secret } = service.add()
  secrets = new Map([[_id, secret]])
})

const byId: SecretKeeper = {
  hasSecret: (id) => secrets.has(id),
  saveSecret: (secret, { id }) => void secrets.set(id, secret),
}
const rotate = (options: Partial<RotateOptions> = {}) =>
  rotateWebhook(clientOf(service, { clock: new HastyClock() }), { webhookId: 'w1', url: URL_, ...byId, ...options })

function expectOneSuccessor(active = true): void {
  const [webhook, ...others] = [...service.webhooks.values()]
  expect(others).toEqual([])
  expect(webhook).toMatchObject({ url: URL_, active, description: '(postern, replaces w1)' })
  expect(secrets.get(webhook?._id ?? '')).toBe(webhook?.secret)
}

describe('rotateWebhook', () => {
  it.each([0, 10_000, 60_000])(
    'ends with one webhook even if five runs start at the same time, for %d ms',
    async (overlapMs) => {
      const all = await Promise.all([1, 2, 3, 4, 5].map(() => rotate({ overlapMs })))
      expectOneSuccessor()
      const [id] = [...service.webhooks.keys()]
      expect(all.map(({ state, webhook }) => [state, webhook.id])).toEqual(all.map(() => ['finished', id]))
    },
  )

  it('ends with one webhook even if secrets are saved at different times', async () => {
    let delay = 50
    const saveSecret: SecretKeeper['saveSecret'] = async (secret, { id }) => {
      delay -= 10
      await new Promise((resolve) => setTimeout(resolve, delay))
      secrets.set(id, secret)
    }
    await Promise.all([1, 2, 3, 4, 5].map(() => rotate({ saveSecret })))
    expectOneSuccessor()
  })

  it('ends with one paused webhook if the first is paused', async () => {
    Object.assign(service.webhooks.get('w1') ?? {}, { active: false })
    await Promise.all([1, 2, 3, 4, 5].map(() => rotate()))
    expectOneSuccessor(false)
  })

  it('chooses the active successor, and deletes an older one that is not active', async () => {
    for (const active of [false, true]) {
      const { _id, secret } = service.add({ description: '(postern, replaces w1)', active })
      secrets.set(_id, secret)
    }
    expect(await rotate()).toMatchObject({ state: 'finished', webhook: { id: 'w3' } })
    expectOneSuccessor()
  })

  it('deletes no active successor, which may deliver events that no other does', async () => {
    for (const _time of [1, 2]) {
      const { _id, secret } = service.add({ description: '(postern, replaces w1)' })
      secrets.set(_id, secret)
    }
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

  it('fails if only the second webhook is gone', async () => {
    service.fail('w1', 'e1', { status: 'pending' })
    const onProgress = () => void service.webhooks.delete('w2')
    expect(await failureOf(rotate({ onProgress }))).toMatchObject({ code: 'not_found' })
    expect([...service.webhooks.keys()]).toEqual(['w1'])
  })

  it('creates three webhooks at most, and leaves none, if hasSecret does not find the saved secret', async () => {
    expect(await failureOf(rotate({ hasSecret: () => false }))).toMatchObject({ code: 'secret_not_saved' })
    expect([...service.webhooks.keys()]).toEqual(['w1'])
    expect(service.calls.filter((call) => call.startsWith('POST'))).toHaveLength(3)
  })

  it.each([
    { pollMs: Number.NaN },
    { pollMs: 0 },
    { waitMs: Number.NaN },
    { overlapMs: Number.NaN },
    { overlapMs: -1 },
    { hasSecret: undefined as never },
    { saveSecret: {} as never },
  ])('refuses %j before anything is created', async (wrong) => {
    expect(await failureOf(rotate(wrong))).toMatchObject({ code: 'option_invalid' })
    expect(service.calls).toEqual([])
  })
})

import { ensureWebhook, type SecretKeeper } from 'postern/client'
import { beforeEach, describe, expect, it } from 'vitest'
import { clientOf, failureOf } from './support.ts'
import {
  Doomed,
  expectEndAtAnyStep,
  keeperOf,
  makeWebhookService,
  URL_,
  type WebhookService,
} from './webhook-service.ts'

let service: WebhookService
let secrets: Map<string, string>
beforeEach(() => {
  service = makeWebhookService()
  secrets = new Map()
})

const events = ['contact.created', 'contact.deleted']
const ensure = (options: object = {}) =>
  ensureWebhook(clientOf(service), { url: URL_, events, ...keeperOf(secrets), ...options })

/** Adds a webhook whose secret is saved. */
const addSaved = (fields: object = {}) => {
  const { _id, secret } = service.add({ events, ...fields })
  secrets.set(_id, secret)
  return _id
}

function expectOneGoodWebhook(): void {
  const [webhook, ...others] = [...service.webhooks.values()]
  expect(others).toEqual([])
  expect(webhook).toMatchObject({ url: URL_, active: true })
  expect(webhook?.events).toEqual(events)
  expect(secrets.get(webhook?._id ?? '')).toBe(webhook?.secret)
}

describe('ensureWebhook', () => {
  it('changes nothing if everything is right', async () => {
    await ensure()
    const before = service.calls.length
    expect(await ensure()).toMatchObject({ isNew: false, deleted: [], webhook: { id: 'w1' } })
    expect(new Set(service.calls.slice(before))).toEqual(new Set(['GET /api/integrations/webhooks']))
  })

  const OWN = { description: '(postern)' }
  const timed = (...times: readonly string[]) => times.map((createdAt) => ({ ...OWN, createdAt }))
  const named = (createdAt: string | undefined, ...ids: readonly string[]) =>
    ids.map((_id) => ({ ...OWN, _id, createdAt }))
  const elsewhere = ['https://other.example.test/hooks', 'https://app.example.test/hooks/2', 'no address']

  it.each<[what: string, saved: readonly object[], foreign: readonly object[], id: string, left: readonly string[]]>([
    ["the app's own one, and corrects its events", [{ events: ['contact.created'] }], [], 'w1', ['w1']],
    ["the oldest active one of the app's own", [{ active: false }, {}, {}], [], 'w2', ['w1', 'w2', 'w3']],
    ['the new one of a rotation', [OWN, { description: '(postern, replaces w1)' }], [], 'w2', ['w1', 'w2']],
    ['the oldest by its time', timed('2025-01-03', '2025-01-01', '2025-01-02'), [], 'w2', ['w2']],
    ['the first by its id of those of one time', named('2025-01-01', 'c', 'a', 'b'), [], 'a', ['a']],
    ['the first by its id where no time is told', named(undefined, 'c', 'a', 'b'), [], 'a', ['a']],
    ["a new one beside another app's paused one", [], [{ active: false }], 'w2', ['w1', 'w2']],
    ['its own beside one made with another keeper of secrets', [OWN], [OWN], 'w1', ['w1', 'w2']],
    ...elsewhere.map((url): [string, object[], object[], string, string[]] => [
      'a new one beside those elsewhere',
      [{ ...OWN, url }],
      [{ ...OWN, url, active: false }],
      'w3',
      ['w1', 'w2', 'w3'],
    ]),
  ])('takes %s; saved were %j', async (_what, saved, foreign, id, left) => {
    for (const fields of saved) addSaved(fields)
    for (const fields of foreign) service.add(fields)
    const isNew = !secrets.has(id)
    expect(await ensure()).toMatchObject({ isNew, webhook: { id, url: URL_, events, active: true } })
    expect([...service.webhooks.keys()]).toEqual(left)
    expect(service.webhooks.get(id)).toMatchObject({ events, active: true, secret: secrets.get(id) })
  })

  it('creates one webhook even if five runs start at the same time', async () => {
    const results = await Promise.all([1, 2, 3, 4, 5].map(() => ensure({ description: 'orders' })))
    expectOneGoodWebhook()
    const [id] = [...service.webhooks.keys()]
    expect(results.map(({ webhook }) => webhook.id)).toContain(id)
    expect(results.filter(({ webhook, isNew }) => isNew && webhook.id === id)).toHaveLength(1)
  })

  it('returns no webhook that another run deletes, and refuses all but one, if three runs have separate secrets', async () => {
    let seed = 1
    const late = async (most: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 0x8000_0000
      for (let turn = Math.floor((seed / 0x8000_0000) * most); turn > 0; turn--) await new Promise(setImmediate)
    }
    for (let round = 0; round < 20; round++) {
      const { url, fetch, webhooks } = Object.assign(service, { onAnswer: () => late(12) })
      webhooks.clear()
      const slow = (request: Request) => late(6).then(() => fetch(request))
      const ends = await Promise.allSettled(
        [1, 2, 3].map(async () => {
          await late(6)
          return ensureWebhook(clientOf({ url, fetch: slow }), { url: URL_, events, ...keeperOf(new Map()) })
        }),
      )
      const ids = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value.webhook.id] : []))
      expect(ids).toEqual([...webhooks.keys()])
      const refusals = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
      const message = expect.stringContaining('one store of secrets')
      expect(refusals).toMatchObject(Array(3 - ids.length).fill({ code: 'webhook_not_ours', message }))
      expect(ids).toHaveLength(1)
    }
  })

  it('gives up if the webhook does not stay active', async () => {
    service.onAnswer = ({ method }) => {
      for (const webhook of service.webhooks.values()) webhook.active = false
      return method === 'PUT'
        ? { body: [...service.webhooks.values()].map(({ secret, ...rest }) => rest)[0] }
        : undefined
    }
    expect(await failureOf(ensure())).toMatchObject({
      code: 'answer_unusable',
      route: 'PUT /api/integrations/webhooks',
    })
  })

  it('creates another webhook if its own is deleted before it is active', async () => {
    service.onAnswer = ({ method, path }) => {
      if (method === 'GET' && path.endsWith('/webhooks')) service.webhooks.delete('w1') // after it was listed
      return undefined
    }
    expect(await ensure()).toMatchObject({ isNew: true, webhook: { id: 'w2' } })
    expectOneGoodWebhook()
  })

  it("leaves another app's active webhook alone, unless an option allows it to replace it", async () => {
    service.add()
    expect(await failureOf(ensure())).toMatchObject({
      code: 'webhook_not_ours',
      route: 'GET /api/integrations/webhooks',
    })
    expect(service.webhooks.size).toBe(1)
    expect(await ensure({ replaceActive: true })).toMatchObject({ isNew: true, deleted: ['w1'] })
    expectOneGoodWebhook()
  })

  it.each<[string, object]>([
    ['the URL', {}],
    ['the events', { url: URL_, active: true }],
  ])('copes with lists that leave out %s, or contain a deleted webhook', async (_what, listed) => {
    const _id = addSaved({ events: ['contact.created'] })
    service.onAnswer = ({ method, path }) =>
      method === 'GET' && path.endsWith('/webhooks') ? { body: [{ _id: 'gone' }, { _id, ...listed }] } : undefined
    expect(await ensure()).toMatchObject({ isNew: false, webhook: { id: _id, events } })
    expectOneGoodWebhook()
  })

  it.each<[string, object[]]>([
    ['no webhook', []],
    ['another URL of the webhook', [{ _id: 'w1', url: 'https://app.example.test/HOOKS' }]],
  ])('creates one webhook, and leaves none, if the service lists %s', async (_what, body) => {
    service.onAnswer = ({ method, path }) => (method === 'GET' && path.endsWith('/webhooks') ? { body } : undefined)
    expect(await failureOf(ensure())).toMatchObject({
      code: 'answer_unusable',
      route: 'GET /api/integrations/webhooks',
      message: expect.stringContaining('w1'),
    })
    expect(service.calls.filter((call) => call.startsWith('POST'))).toHaveLength(1)
    expect(service.webhooks.size).toBe(0)
  })

  it('creates three webhooks at most, and leaves none, if hasSecret does not find the saved secret', async () => {
    expect(await failureOf(ensure({ hasSecret: async () => {} }))).toMatchObject({
      code: 'secret_not_saved',
      message: expect.stringContaining('hasSecret does not know webhook w3'),
    })
    expect(service.webhooks.size).toBe(0)
  })

  it('creates another webhook if another run has saved its own secret in the same place', async () => {
    let saved: string | undefined
    let isFirst = true
    const place: SecretKeeper = {
      hasSecret: (id) => saved === id,
      saveSecret: (_secret, { id }) => {
        saved = isFirst ? 'of another run' : id
        isFirst = false
      },
    }
    expect(await ensure(place)).toMatchObject({ webhook: { id: 'w2' }, isNew: true, deleted: ['w1'] })
    expect([...service.webhooks.keys()]).toEqual(['w2'])
  })
})

describe('a secret that cannot be saved', () => {
  it.each<[string, (secret: string) => unknown, boolean]>([
    ['the error is kept', () => new Error('disk full'), true],
    ['unless it repeats the secret', (secret) => new Error(`cannot write ${secret}`), false],
    ['unless its cause does', (secret) => new Error('no', { cause: new Error(secret) }), false],
    ['unless its stack does', (secret) => Object.assign(new Error('no'), { stack: `Error: ${secret}` }), false],
    ['unless it is no error', (secret) => `cannot write ${secret}`, false],
    ['unless a field of it does', (secret) => Object.assign(new Error('no'), { value: secret }), false],
  ])('is reported, and the webhook deleted: %s', async (_what, toError, isKept) => {
    const thrown: unknown[] = []
    const saveSecret = async (secret: string) => {
      thrown.push(toError(secret))
      throw thrown[0]
    }
    const error = await failureOf(ensure({ saveSecret }))
    expect(error).toMatchObject({ code: 'secret_not_saved', route: 'POST /api/integrations/webhooks' })
    expect((error as Error).cause === thrown[0]).toBe(isKept) // an error, see above
    expect(service.webhooks.size).toBe(0)
    await ensure()
    expectOneGoodWebhook()
  })
})

it('reports a webhook whose secret was not saved and that could not be deleted', async () => {
  service.onAnswer = ({ method }) => (method === 'DELETE' ? { status: 400, body: {} } : undefined)
  const saveSecret = () => {
    throw new Error('read-only')
  }
  expect(await failureOf(ensure({ saveSecret }))).toMatchObject({
    code: 'secret_not_saved',
    message: expect.stringContaining('could not be deleted again'),
  })
})

describe('a creation whose answer is lost', () => {
  it('is searched, deleted, and repeated', async () => {
    let isLost = false
    service.onAnswer = ({ method }) => {
      if (method !== 'POST' || isLost) return undefined
      isLost = true
      return 'drop'
    }
    expect(await ensure()).toMatchObject({ isNew: true, deleted: ['w1'] })
    expectOneGoodWebhook()
  })

  it('is not repeated for ever', async () => {
    service.onAnswer = ({ method }) => (method === 'POST' ? { status: 504 } : undefined)
    expect(await failureOf(ensure())).toMatchObject({ code: 'outcome_unknown' })
    expect(service.calls.filter((call) => call.startsWith('POST'))).toHaveLength(3)
    service.onAnswer = () => undefined
    await ensure()
    expectOneGoodWebhook()
  })
})

it('ensureWebhook is ended by its signal at any step, even if the service hangs', async () => {
  const reset = () => {
    service.webhooks.clear()
    secrets.clear()
    service.add({ active: true })
    service.add({ active: false, description: '(postern)' })
  }
  await expectEndAtAnyStep(service, reset, (signal) => ensure({ signal, replaceActive: true }))
})

it('ensureWebhook can be repeated after a crash at any step, or after several', async () => {
  const run = async (stepsToLive: number) => {
    const doomed = new Doomed(service, stepsToLive)
    await ensureWebhook(doomed.client, { url: URL_, events, ...keeperOf(secrets, (done) => doomed.step(done)) }).catch(
      () => {},
    )
    return doomed.steps
  }
  // List, create, save, list, activate, list, look. A list that is not empty takes two calls.
  const STEPS = 9
  expect(await run(Number.POSITIVE_INFINITY)).toBe(STEPS)
  for (let step = 1; step <= STEPS; step++) {
    service.webhooks.clear()
    secrets.clear()
    expect(await run(step)).toBe(step)
    expect([...service.webhooks.values()].every(({ _id, active }) => !active || secrets.has(_id))).toBe(true)
    await ensure()
    expectOneGoodWebhook()
  }
  service.webhooks.clear()
  for (let step = 1; step <= STEPS; step++) await run(step)
  await ensure()
  expectOneGoodWebhook()
})

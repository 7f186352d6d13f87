import { ensureWebhook, rotateWebhook } from 'postern/client'
import { expect, it } from 'vitest'
import { setScene } from './emulated.ts'

// `npm run test:long -- client` sends 10,000 events across a rotation.
const IS_WHOLE = process.env.CLIENT_LOAD === 'whole'
const EVENTS = IS_WHOLE ? 10_000 : 100
const TYPES = ['contact.created']
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

it(`${EVENTS} events across a rotation: none missed, none handled twice`, { timeout: 900_000 }, async () => {
  const scene = await setScene({ clock: undefined as never, retryScale: 100, rateLimit: '100000/60s' }, 'real')
  const { crm, client, url, keeper, handled } = scene
  const { webhook: old } = await ensureWebhook(client, { url, events: TYPES, ...keeper })
  const sent: string[] = []
  let isRotated = false
  const load = async () => {
    // Some before, most across it, and some after.
    while (sent.length < EVENTS || !isRotated) {
      for (let n = 0; n < 10; n++) sent.push(crm.events.emit({ type: 'contact.created' }).id)
      await pause(sent.length < EVENTS ? 10 : 300)
    }
    for (let n = 0; n < 50; n++) sent.push(crm.events.emit({ type: 'contact.created' }).id)
  }
  const loading = load()
  while (sent.length < EVENTS / 10) await pause(5)
  const overlapMs = IS_WHOLE ? 5_000 : 300
  const result = await rotateWebhook(client, {
    webhookId: old.id,
    ...keeper,
    overlapMs,
    pollMs: IS_WHOLE ? 2_000 : 300,
  })
  isRotated = true
  await loading
  await crm.deliveries.whenIdle()
  expect(result).toMatchObject({ state: 'finished', sharesEventIds: true, failed: 0 })
  expect((await client.webhooks.list()).map(({ id }) => id)).toEqual([result.webhook.id])
  expect(sent.length).toBeGreaterThanOrEqual(EVENTS)
  expect([...handled.keys()].toSorted()).toEqual(sent.toSorted())
  expect([...handled.values()].every((count) => count === 1)).toBe(true)
  if (IS_WHOLE) console.log(`${sent.length} events sent, ${handled.size} handled, each once`)
})

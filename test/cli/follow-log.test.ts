import type { Delivery } from 'postern/client'
import { describe, expect, it } from 'vitest'
import { followLog } from '../../tools/cli/service/follow-log.ts'
import { clientOf } from '../client/support.ts'
import { makeWebhookService, type StoredDelivery } from '../client/webhook-service.ts'

/** Follows the log of a webhook, look by look. */
async function follow({ since, pollMs = 0 }: { readonly since?: Date; readonly pollMs?: number } = {}) {
  const service = makeWebhookService()
  const webhook = service.add()._id
  const stop = new AbortController()
  const looks = followLog(clientOf(service), webhook, since, stop.signal, pollMs)
  let calls = 0
  return {
    service,
    stop,
    looks,
    log: service.logs.get(webhook) ?? expect.fail(),
    add: (eventId: string, fields?: Partial<StoredDelivery>) => service.fail(webhook, eventId, fields),
    /** Returns the events that are new at the next look. */
    async look(): Promise<readonly (string | undefined)[]> {
      calls = service.calls.length
      const { value }: IteratorResult<readonly Delivery[], undefined> = await looks.next()
      return value?.map(({ eventId }) => eventId) ?? []
    },
    /** Number of pages that were read at the last look. */
    get pages() {
      return service.calls.length - calls
    },
  }
}
type Followed = Awaited<ReturnType<typeof follow>>

/** Looks so many times, and finds nothing new. */
async function lookOn({ look }: Followed, count: number): Promise<void> {
  for (let n = 0; n < count; n++) expect(await look()).toEqual([])
}

describe('a log that is followed', () => {
  it('is read whole at first, and then only its news, the newest last', async () => {
    const log = await follow()
    for (let n = 0; n < 300; n++) log.add(`e${n}`)
    expect(await log.look()).toEqual(Array.from({ length: 300 }, (_, n) => `e${n}`))
    expect(log.pages).toBeGreaterThan(3)
    await lookOn(log, 1)
    expect(log.pages).toBe(1)
    for (const eventId of ['one', 'other']) log.add(eventId)
    expect(await log.look()).toEqual(['one', 'other'])
    expect(log.pages).toBe(1)
    for (let n = 0; n < 150; n++) log.add(`later ${n}`)
    expect(await log.look()).toHaveLength(150)
    expect(log.pages).toBe(2)
  })

  it.each(['pending', 'of no known name'])(
    'has a line again when it changes, and is read down to it: %s',
    async (status) => {
      const log = await follow()
      log.add('first')
      const open = log.add('open', { status })
      for (let n = 0; n < 250; n++) log.add(`e${n}`)
      expect(await log.look()).toHaveLength(252)
      await lookOn(log, 1)
      expect(log.pages).toBe(3)
      open.attempts++
      expect(await log.look()).toEqual(['open'])
      open.status = 'success'
      expect(await log.look()).toEqual(['open'])
      await lookOn(log, 1)
      expect(log.pages).toBe(1)
    },
  )

  it('is read whole again at every thirtieth look, for what was finished and is retried by hand', async () => {
    const log = await follow()
    const old = log.add('old')
    for (let n = 0; n < 120; n++) log.add(`e${n}`)
    await log.look()
    old.status = 'pending'
    await lookOn(log, 29)
    expect(log.pages).toBe(1)
    expect(await log.look()).toEqual(['old'])
  })

  it.each<[string, (n: number) => string | undefined]>([
    ['is sorted the other way', (n) => new Date(Date.UTC(2025, 0, 1) - n).toISOString()],
    ['has one time alone', () => new Date(Date.UTC(2025, 0, 1)).toISOString()],
    ['has no times', () => undefined],
  ])('is read whole at every look if it %s', async (_what, timeOf) => {
    const log = await follow()
    const first = log.add('first', { createdAt: timeOf(0) as string }) // may be left out
    for (let n = 1; n < 120; n++) log.add(`e${n}`, { createdAt: timeOf(n) as string }) // as well
    await log.look()
    first.status = 'success'
    expect(await log.look()).toEqual(['first'])
  })

  it('is not read beyond the time from which on it was asked for', async () => {
    const log = await follow({ since: new Date(Date.UTC(2025, 0, 1, 1)) })
    for (let n = 0; n < 250; n++) log.add(`old ${n}`)
    const at = (second: number) => ({ createdAt: new Date(Date.UTC(2025, 0, 1, 1, 0, second)).toISOString() })
    log.add('open', { ...at(1), status: 'pending' })
    log.add('last', at(2))
    expect(await log.look()).toEqual(['open', 'last'])
    log.add('new', at(3))
    expect(await log.look()).toEqual(['new'])
    expect(log.pages).toBe(1)
  })

  it.each([0, 1])('is left within a look when the signal aborts: look %d', async (number) => {
    const log = await follow()
    for (let n = 0; n < 2; n++) log.add(`e${n}`)
    for (let n = 0; n < number; n++) await log.look()
    log.service.onAnswer = () => {
      log.stop.abort('enough')
      return 'hang'
    }
    expect(await log.looks.next()).toEqual({ done: true, value: undefined })
  })
})

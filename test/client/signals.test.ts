import { getEventListeners } from 'node:events'
import { systemClock } from 'postern'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { WEBHOOK } from './replies.ts'
import { clientOf, failureOf, type Reply, type Seen, serve } from './support.ts'

describe('a signal', () => {
  const reason = new Error('enough')
  const giveToken = (): Reply => ({ body: { accessToken: 'a' } })

  it('that has aborted lets nothing out', async () => {
    const service = await serve(() => ({ body: WEBHOOK }))
    const client = clientOf(service)
    expect(await failureOf(client.webhooks.get('w1', { signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect(service.seen).toEqual([])
  })

  it.each<[string, (seen: Seen) => Reply, (seen: Seen) => Reply]>([
    ['the login', () => ({}), () => () => {}],
    ['the call', () => () => {}, giveToken],
    ['the body', () => (response) => void response.writeHead(200).write('{'), giveToken],
    [
      'a wait for the rate limit',
      () => ({ status: 401, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '50' } }),
      giveToken,
    ],
    ['a back-off', () => ({ status: 503, headers: { 'retry-after': '50' } }), giveToken],
  ])('ends %s', async (_what, answer, login) => {
    const controller = new AbortController()
    const stopSoon = (reply: Reply): Reply => {
      if (typeof reply === 'function' || 'headers' in reply) setTimeout(() => controller.abort(reason), 20)
      return reply
    }
    const service = await serve(
      (seen) => stopSoon(answer(seen)),
      (seen) => stopSoon(login(seen)),
    )
    const client = clientOf(service, { clock: systemClock })
    expect(await failureOf(client.webhooks.get('w1', { signal: controller.signal }))).toBe(reason)
  })

  it('ends the login that no other call waits for, and the next call logs in again', async () => {
    const controller = new AbortController()
    let isClosed = false
    const service = await serve(
      () => ({ body: WEBHOOK }),
      (_, count) => {
        if (count > 1) return giveToken()
        return (response) => {
          response.on('close', () => {
            isClosed = true
          })
          controller.abort(reason)
        }
      },
    )
    const client = clientOf(service)
    expect(await failureOf(client.webhooks.get('w1', controller))).toBe(reason)
    expect(await client.webhooks.get('w1')).toMatchObject({ id: 'w1' })
    expect([service.logins, isClosed]).toEqual([2, true])
  })

  it('and the clock are left as they were once a call has ended, or a back-off by the signal', async () => {
    const clock = manualClock()
    const controller = new AbortController()
    const statuses: Readonly<Record<string, number>> = { w2: 404, w3: 503 }
    const service = await serve(({ path }) => ({ status: statuses[path.slice(-2)] ?? 200, body: WEBHOOK }))
    const onWait = () => setTimeout(() => controller.abort(reason), 5)
    const client = clientOf(service, { clock, onWait })
    await client.webhooks.get('w1', controller)
    await failureOf(client.webhooks.get('w2', controller))
    expect([getEventListeners(controller.signal, 'abort'), clock.pending]).toEqual([[], 0])
    expect(await failureOf(client.webhooks.get('w3', controller))).toBe(reason)
    expect(clock.pending).toBe(0)
  })

  it('of one call does not end the login that others wait for', async () => {
    const controller = new AbortController()
    const service = await serve(
      () => ({ body: WEBHOOK }),
      async () => {
        controller.abort(reason)
        return giveToken()
      },
    )
    const client = clientOf(service)
    const [one, other] = await Promise.allSettled([client.webhooks.get('w1', controller), client.webhooks.get('w1')])
    expect(one).toEqual({ status: 'rejected', reason })
    expect(other).toMatchObject({ status: 'fulfilled' })
    expect(service.logins).toBe(1)
  })
})

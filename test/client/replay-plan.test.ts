import { replayFailed } from 'postern/client'
import { beforeEach, describe, expect, it } from 'vitest'
import { clientOf } from './support.ts'
import { makeWebhookService, recordRetries, type WebhookService } from './webhook-service.ts'

let service: WebhookService
let retried: string[]
beforeEach(() => {
  service = makeWebhookService()
  service.add()
  retried = recordRetries(service)
})

const timeOf = (second: number) => new Date(Date.UTC(2025, 0, 2, 0, 0, second))

/** Fills the log, from its first line on, with failures of these seconds; undefined: without a time. */
function fill(seconds: readonly (number | undefined)[]): void {
  for (const [index, second] of [...seconds.entries()].toReversed()) {
    const createdAt = second === undefined ? (undefined as never) : timeOf(second).toISOString() // left out
    service.fail('w1', `e${index}`, { createdAt })
  }
}

const replaySince = (second: number) => replayFailed(clientOf(service), { webhookId: 'w1', since: timeOf(second) })

describe('a replay since a time', () => {
  it.each<[string, readonly (number | undefined)[], number, readonly string[]]>([
    ['the oldest is first and several are of one moment', [1, 1, 2, 2], 2, ['e2', 'e3']],
    [
      'it falls, and rises after a line without a time',
      [9, 8, undefined, 10, 1, 12],
      5,
      ['e0', 'e1', 'e2', 'e3', 'e5'],
    ],
    ['all are of one moment', [5, 5, 5], 5, ['e0', 'e1', 'e2']],
  ])('finds all that is younger in a log if %s', async (_what, seconds, since, found) => {
    fill(seconds)
    await replaySince(since)
    expect(retried.toSorted()).toEqual(found)
  })

  it('reads no further than that time if the newest is first, also if several are of one moment', async () => {
    fill(Array.from({ length: 300 }, (_, index) => 400 - Math.floor(index / 2)))
    await replaySince(400)
    expect(retried.toSorted()).toEqual(['e0', 'e1'])
    const pages = service.calls.filter((call) => call === 'GET /api/integrations/webhooks/w1/deliveries')
    expect(pages).toHaveLength(2) // one before the retries, and one for their results
  })
})

it('retries one delivery of an event that failed twice if the log has no times', async () => {
  for (let count = 0; count < 2; count++) service.fail('w1', 'e1', { createdAt: undefined as never }) // left out
  expect(await replayFailed(clientOf(service), { webhookId: 'w1' })).toMatchObject({ retried: 1 })
  expect(retried).toEqual(['e1'])
})

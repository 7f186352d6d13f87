import { expect, it } from 'vitest'
import { createClock } from '../../src/emulator/clock.ts'
import type { Delivery } from '../../src/emulator/delivery.ts'
import { Feed } from '../../src/emulator/feed.ts'
import { createBatches } from '../../src/emulator/inspector/batches.ts'
import { CallLog } from '../../src/emulator/inspector/call-log.ts'
import { quiet } from './support.ts'

it('keeps the last 10,000 deliveries for a page that does not read, and none of their bodies', async () => {
  const feed = new Feed(quiet)
  const parts = { feed, clock: createClock(undefined, 0, { nextDueAt: () => undefined, onMove() {} }) }
  const batches = createBatches(parts, new CallLog(parts))
  const delivery = { attempts: [], status: 'pending', signing: 'valid', createdAt: 0 } as unknown as Delivery // what a row is made of
  for (let n = 1; n <= 12_345; n++) feed.publish({ type: 'delivery', delivery: { ...delivery, id: `d${n}` } })
  const ids: string[] = []
  while (ids.length < 10_000) {
    const rows = (await batches.next())?.rows ?? []
    ids.push(...rows.map(({ id }) => id))
  }
  batches.stop()
  expect(ids).toHaveLength(10_000)
  expect([ids[0], ids.at(-1)]).toEqual(['d2346', 'd12345'])
})

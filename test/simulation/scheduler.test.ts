import { expect, it } from 'vitest'
import { Scheduler } from './scheduler.ts'

it('takes steps by time, then by urgency, then in the order in which they were planned', async () => {
  const scheduler = new Scheduler()
  const taken: string[] = []
  const plan = (at: number, name: string, urgency?: number) =>
    scheduler.at(at, () => taken.push(`${scheduler.now} ${name}`), urgency)
  for (const at of [30, 10, 20, 5, 25, 15]) plan(at, 'a')
  plan(10, 'b', 1)
  plan(10, 'c')
  plan(30, 'd', -1)
  plan(20, 'cancelled').action = undefined
  expect(await scheduler.run(100)).toBe(true)
  expect(taken).toEqual(['5 a', '10 a', '10 c', '10 b', '15 a', '20 a', '25 a', '30 d', '30 a'])
})

it('lets promises settle between two steps, no matter how long their chains are', async () => {
  const scheduler = new Scheduler()
  const seen: number[] = []
  let links = 0
  scheduler.at(1, async () => {
    for (; links < 10_000; links++) await undefined
  })
  scheduler.at(1, () => seen.push(links))
  await scheduler.run(100)
  expect(seen).toEqual([10_000])
})

it('plans nothing into the past, and gives up a run that does not come to rest', async () => {
  const scheduler = new Scheduler()
  const again = () => void scheduler.at(0, again)
  scheduler.at(7, again)
  expect(await scheduler.run(50)).toBe(false)
  expect([scheduler.now, scheduler.taken]).toEqual([7, 51])
})

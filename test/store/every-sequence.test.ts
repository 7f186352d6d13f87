import { memoryStore } from 'postern'
import { manualClock, storeSuite } from 'postern/testing'
import { expect, it } from 'vitest'

it('the memory store answers every sequence of six steps as the contract does', async () => {
  const clock = manualClock()
  const pass = (ms: number) => clock.advance(ms)
  const makeStore = () => memoryStore({ clock, max: 1_000_000 })
  const every = storeSuite(makeStore, { pass, isShared: false, depth: 6 }).find(({ name }) => name.includes('every'))
  expect(every).toBeDefined()
  await every?.run()
})

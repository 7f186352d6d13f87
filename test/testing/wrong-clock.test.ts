import { expect, it } from 'vitest'
import { withWrongClock } from '../../src/testing/store-suite/wrong-clock.ts'

const HOUR_MS = 3_600_000

it('leaves times alone that do not depend on the clock', async () => {
  const times = await withWrongClock(HOUR_MS, () => [
    new Date(5),
    new Date(2020, 1),
    Date.UTC(2020),
    new Date() instanceof Date,
  ])
  expect(times).toEqual([new Date(5), new Date(2020, 1), Date.UTC(2020), true])
})

it('puts the clock right if the work fails', async () => {
  const RightDate = Date
  const failure = new Error('failed')
  await expect(withWrongClock(HOUR_MS, () => Promise.reject(failure))).rejects.toBe(failure)
  expect(Date).toBe(RightDate)
})

it('puts the clock right when the last of several works ends', async () => {
  const RightDate = Date
  let end = () => {}
  const long = withWrongClock(
    HOUR_MS,
    () =>
      new Promise<void>((resolve) => {
        end = resolve
      }),
  )
  await withWrongClock(-HOUR_MS, () => {})
  expect(Date).not.toBe(RightDate)
  end()
  await long
  expect(Date).toBe(RightDate)
})

import { expect, it } from 'vitest'
import { withWrongClock } from '../../tools/testing/store-suite/wrong-clock.ts'
import { Gate } from '../support/gate.ts'

const HOUR_MS = 3_600_000

it('moves the present, and no times that do not depend on the clock', async () => {
  const RightDate = Date
  const hoursOff = (ms: number) => Math.round((ms - RightDate.now()) / HOUR_MS)
  await withWrongClock(HOUR_MS, () => {
    const now = new Date()
    const right = [new RightDate(5), new RightDate(2020, 1), RightDate.UTC(2020)]
    expect([new Date(5), new Date(2020, 1), Date.UTC(2020)]).toEqual(right)
    expect([now instanceof Date, hoursOff(Date.now()), hoursOff(now.getTime())]).toEqual([true, 1, 1])
  })
})

it('puts the clock right if the work fails', async () => {
  const RightDate = Date
  const failure = new Error('failed')
  await expect(withWrongClock(HOUR_MS, () => Promise.reject(failure))).rejects.toBe(failure)
  expect(Date).toBe(RightDate)
})

it('puts the clock right when the last of several works ends', async () => {
  const RightDate = Date
  const gate = new Gate()
  const long = withWrongClock(HOUR_MS, () => gate.promise)
  await withWrongClock(-HOUR_MS, () => {})
  expect(Date).not.toBe(RightDate)
  gate.open()
  await long
  expect(Date).toBe(RightDate)
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readTime } from '../../src/protocol/read-time.ts'
import { runs } from '../support/runs.ts'

describe('readTime', () => {
  it.each([
    ['2025-01-01T00:00:00Z', Date.UTC(2025, 0, 1)],
    ['2025-01-01T00:00Z', Date.UTC(2025, 0, 1)],
    ['2025-01-01T00:00:00.5Z', Date.UTC(2025, 0, 1, 0, 0, 0, 500)],
    ['2025-01-01T00:00:00.123999Z', Date.UTC(2025, 0, 1, 0, 0, 0, 123)],
    ['2025-01-01T05:30:00+05:30', Date.UTC(2025, 0, 1)],
    ['2024-12-31T19:00:00.000-05:00', Date.UTC(2025, 0, 1)],
    ['2024-02-29T12:00:00Z', Date.UTC(2024, 1, 29, 12)],
    ['2024-12-31T24:00:00Z', Date.UTC(2025, 0, 1)],
    ['0001-01-01T00:00:00Z', -62_135_596_800_000],
  ])('reads %s', (text, time) => {
    expect(readTime(text)).toBe(time)
  })

  it.each([
    '',
    ' ',
    '2025',
    '2025-01-01',
    '2025-01-01T00:00:00',
    '2025-01-01T00:00:00 Z',
    '2025-01-01T00:00:00Z\n',
    '2025-01-01t00:00:00z',
    '20250101T000000Z',
    '2025-1-1T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2025-04-31T00:00:00Z',
    '2025-00-10T00:00:00Z',
    '2025-01-01T00:60:00Z',
    '2025-01-01T00:00:60Z',
    '2025-01-01T24:00:01Z',
    '2025-01-01T00:00:00+99:00',
    '2025-01-01T00:00:00.Z',
    '+002025-01-01T00:00:00Z',
    'Wed, 01 Jan 2025 00:00:00 GMT',
    '1735689600000',
    '２０２５-01-01T00:00:00Z',
  ])('does not read %j', (text) => {
    expect(readTime(text)).toBeUndefined()
  })

  it('keeps the order of any two times', () => {
    const time = fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 })
    fc.assert(
      fc.property(time, time, (one, other) => {
        const [first, second] = [one, other].map((ms) => readTime(new Date(ms).toISOString()) ?? Number.NaN)
        expect(Math.sign((first ?? 0) - (second ?? 0))).toBe(Math.sign(one - other))
      }),
      runs(300),
    )
  })
})

import { describe, expect, it } from 'vitest'
import {
  isPutOff,
  mustBeAccepted,
  mustBeRefused,
  mustNotCrash,
  readRetryAfterMs,
  toReason,
} from '../../tools/check/verdict.ts'
import { CUT, toAnswer } from './to-answer.ts'

const STATUSES = [199, 200, 299, 300, 399, 400, 401, 499, 500, undefined]
const toStatus = (status: number | undefined) => (status === undefined ? CUT : toAnswer({ status }))

describe('the verdict on an answer', () => {
  it.each([
    ['accepted', mustBeAccepted, 'fail pass pass fail fail fail fail fail fail fail'],
    ['refused', mustBeRefused, 'fail fail fail fail fail pass pass pass fail fail'],
    ['anything but a crash', mustNotCrash, 'fail pass pass fail fail pass pass pass fail fail'],
  ])('follows its status, if the delivery must be %s', (_what, judge, verdicts) => {
    expect(STATUSES.map((status) => judge(toStatus(status)).status).join(' ')).toBe(verdicts)
  })

  it('is no refusal if the delivery is only put off: nobody has judged it', () => {
    const limited = toAnswer({ status: 429, headers: { 'retry-after': '60' } })
    const verdicts = [mustBeRefused, mustNotCrash].map((judge) => judge(limited))
    expect(verdicts).toEqual(Array(2).fill({ status: 'fail', answers: [limited] }))
    expect(verdicts.map(toReason)).toEqual(Array(2).fill('429 after 5 ms, put off for 60 s'))
    expect(toReason(mustBeRefused(toAnswer({ status: 429 })))).toBe('429 after 5 ms, put off for an unknown time')
    expect(mustBeRefused(toAnswer({ status: 429 })).status).toBe('fail')
  })
})

describe('Retry-After', () => {
  const withHeader = (text: string) => toAnswer({ status: 503, headers: { 'retry-after': text } })
  const LATE = 'Sun Nov 6 08:49:37 2094' // the oldest of the three forms of HTTP

  it.each([
    ['seconds', '10', 10_000],
    ['seconds and a fraction', '1.5', 1_500],
    ['no time at all', '0', 0],
    ['less than none', '-5', 0],
    ['less than none, with a fraction', '-0.5', 0],
    ['a date that is over', new Date(0).toUTCString(), 0],
  ])('is %s', (_what, text, ms) => {
    expect(readRetryAfterMs(withHeader(text))).toBe(ms)
  })

  it('is a date, counted from now', () => {
    const ms = readRetryAfterMs(withHeader(new Date(Date.now() + 60_000).toUTCString())) ?? 0
    expect(ms).toBeGreaterThan(50_000)
    expect(ms).toBeLessThanOrEqual(60_000)
    const inYears = (text: string) => (readRetryAfterMs(withHeader(text)) ?? 0) / 3.15e10
    expect(inYears(LATE)).toBeGreaterThan(1)
    expect(inYears('2094-11-06')).toBeGreaterThan(1)
  })

  it('says nothing if it cannot be read, or is missing', () => {
    expect(readRetryAfterMs(withHeader('soon'))).toBeUndefined()
    expect(readRetryAfterMs(toAnswer({ status: 503 }))).toBeUndefined()
  })

  it('puts a delivery off with 429 or 503 only', () => {
    const headers = { 'retry-after': '1' }
    expect([200, 429, 500, 503].filter((status) => isPutOff(toAnswer({ status, headers })))).toEqual([429, 503])
    expect([429, 503].filter((status) => isPutOff(toAnswer({ status })))).toEqual([429])
  })
})

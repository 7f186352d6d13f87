import { describe, expect, it } from 'vitest'
import { findLate, type Judged } from '../../tools/check/find-late.ts'
import { play, type Step } from './play.ts'
import { putOff, toAnswer, toJudged } from './to-answer.ts'

describe('a receiver that accepted deliveries at first', () => {
  /** Returns the code for a receiver that answers one delivery, and then so. */
  const codeOf = async (step: Step, checks: readonly Judged[]) => {
    const { scene, send, seen } = await play([200, step], { patienceMs: 1_000 })
    for (let count = 0; count < 2; count++) await send()
    const code = (await findLate(scene, checks))?.code
    return [code, seen.length]
  }

  it.each<readonly [what: string, check: Judged | undefined, by503: string | undefined]>([
    ['none', undefined, undefined],
    ['one that failed', toJudged('late-retry', [putOff(503)]), 'put_off'],
    ['one that warns', toJudged('same-email', [toAnswer(), putOff(503)], { status: 'warn' }), 'put_off'],
    ['one that was skipped', toJudged('late-retry', [putOff(503)], { status: 'skipped' }), undefined],
    ['one that failed otherwise', toJudged('late-retry', [toAnswer({ status: 401 })]), undefined],
    ['a burst of which some were accepted', toJudged('burst', [toAnswer(), ...Array(3).fill(putOff(503))]), undefined],
    ['a forgery', toJudged('x', [putOff(503)], { group: 'signature' }), undefined],
  ])(
    'limits requests if 429 put a delivery off, or if 503 did and a check suffers: %s',
    async (_what, check, by503) => {
      const passed = toJudged('accepts-valid', [toAnswer()], { status: 'pass' })
      const checks = check === undefined ? [passed] : [passed, check]
      expect(await codeOf([503, '60'], checks)).toEqual([by503, 2])
      expect(await codeOf(429, checks)).toEqual(['put_off', 2])
      expect(await codeOf(200, checks)).toEqual([undefined, 2])
    },
  )

  it.each<readonly [code: string, steps: readonly Step[]]>([
    ['put_off', [200, [429, '0.4'], [429, '0.4'], [429, '0.4'], 200]],
    ['no_recovery', [200, [429, '0.4']]],
    ['no_recovery', [200, [503, '0.4']]],
  ])('is %s if the time of Retry-After passes, and then a delivery gets an answer: %j', async (code, steps) => {
    const { scene, send } = await play(steps, { patienceMs: 1_000 })
    for (let count = 0; count < 2; count++) await send()
    const suffering = toJudged('late-retry', [putOff(503)])
    expect(await findLate(scene, [suffering])).toMatchObject({ code, also: ['late-retry'] })
  })

  it.each<readonly [what: string, ms: number, text: RegExp]>([
    ['hangs', 5, /: it hangs, or still works/],
    [
      'works on one delivery after the other',
      1_000,
      /: no answer took less than 1\.0 s, .*one delivery after the other/,
    ],
  ])('%s, by the shortest time of an answer', async (_what, ms, text) => {
    const { scene } = await play([200])
    const silent = { status: undefined, failureKind: 'timeout' } as const
    const checks = [
      toJudged('accepts-valid', [toAnswer({ ms })], { status: 'pass' }),
      toJudged('burst', [toAnswer({ ms: ms * 9 }), toAnswer({ ...silent, ms: 10_000 })]),
      toJudged('late-retry', [], { status: 'skipped', cause: 'hangs' }),
    ]
    const finding = await findLate(scene, checks)
    expect(finding).toMatchObject({ code: 'no_answer', text: expect.stringMatching(text) })
  })
})

import { describe, expect, it } from 'vitest'
import { createHangTest, findLate, type Judged } from '../../tools/check/diagnose.ts'
import { play, type Step } from './play.ts'
import { putOff, toAnswer, toJudged } from './to-answer.ts'

const LIMITS = { patienceMs: 1_000 }

/** A receiver that has answered once, and then so many of these steps concurrently, all of which hang or none. */
async function open(steps: readonly Step[], sent = 0) {
  const played = await play([200, ...steps], LIMITS)
  const sendMany = (count: number) => Promise.all(Array.from({ length: count }, played.send))
  await played.send()
  await sendMany(sent)
  const before = played.seen.length
  return {
    ...played,
    sendMany,
    /** Number of requests since then. */
    get asked() {
      return played.seen.length - before
    },
  }
}

const never = (count: number) => Array<Step>(count).fill('never')

describe('the look for a receiver that hangs', () => {
  it('sends nothing as long as deliveries are answered', async () => {
    const receiver = await open(never(7), 7)
    expect(await createHangTest(receiver.scene)()).toBe(false)
    expect(receiver.asked).toBe(0)
  })

  it('sends one more delivery for all that ask, and none once the receiver is known to hang', async () => {
    const receiver = await open(never(9), 8)
    const isHanging = createHangTest(receiver.scene)
    expect(await Promise.all([isHanging(), isHanging()])).toEqual([true, true])
    expect(await isHanging()).toBe(true)
    expect(receiver.asked).toBe(1)
  })

  it('looks again after a receiver that was only slow', async () => {
    const receiver = await open([...never(8), 200, ...never(9)], 8)
    const isHanging = createHangTest(receiver.scene)
    expect([await isHanging(), await isHanging(), receiver.asked]).toEqual([false, false, 1])
    await receiver.sendMany(8)
    expect([await isHanging(), receiver.asked]).toEqual([true, 10])
  })
})

describe('a receiver that accepted deliveries at first', () => {
  const codeOf = async (steps: readonly Step[], checks: readonly Judged[], sent = 1) => {
    const receiver = await open(steps, sent)
    return [findLate(receiver.scene, checks)?.code, receiver.asked]
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
      expect(await codeOf([[503, '60']], checks)).toEqual([by503, 0])
      expect(await codeOf([429], checks)).toEqual(['put_off', 0])
      expect(await codeOf([200], checks)).toEqual([undefined, 0])
    },
  )
})

import { describe, expect, it } from 'vitest'
import { createHangTest, findLate, type Judged } from '../../src/check/diagnose.ts'
import { play, type Step } from './play.ts'
import { LATE, putOff, toAnswer, toJudged } from './to-answer.ts'

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

describe('what a run knows of its receiver', () => {
  it('is silence after eight deliveries without an answer in a row, if it has ever answered', async () => {
    const { scene, send, sendMany } = await open([...never(7), 200, ...never(8)], 7)
    expect(scene.isSilent()).toBe(false)
    await send()
    await sendMany(7)
    expect(scene.isSilent()).toBe(false)
    await send()
    expect(scene.isSilent()).toBe(true)
    const other = await play(['never'], LIMITS)
    await Promise.all(Array.from({ length: 9 }, other.send))
    expect(other.scene.isSilent()).toBe(false)
  })

  it('is that a delivery got no answer, if it has ever answered', async () => {
    const { scene, send } = await open([200, 'cut', 200])
    expect(scene.isShaken()).toBe(false)
    for (let n = 0; n < 3; n++) await send()
    expect(scene.isShaken()).toBe(true)
    const other = await play(['cut'])
    await other.send()
    expect(other.scene.isShaken()).toBe(false)
  })

  it('is that a delivery was put off for too long, or for an unknown time, which uses up no patience', async () => {
    const { scene, send } = await open([[503, '0'], 200, [429, 'soon'], [503, '0'], 200])
    expect((await send()).status).toBe(200)
    expect([...scene.putOffBy]).toEqual([])
    expect((await send()).status).toBe(429)
    expect([...scene.putOffBy]).toEqual([429])
    expect((await send()).status).toBe(200)
    const other = await open([[503, '60']], 1)
    expect([...other.scene.putOffBy]).toEqual([503])
  })
})

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
  const alive = (status: Judged['status']) => toJudged('alive-after-all', [], { group: 'load', status })
  const codeOf = async (steps: readonly Step[], checks: readonly Judged[], sent = 1) => {
    const receiver = await open(steps, sent)
    return [(await findLate(receiver.scene, checks))?.code, receiver.asked]
  }

  it('is asked once more if one got no answer and no check has seen it alive afterwards', async () => {
    expect(await codeOf(['cut', 200], [])).toEqual([undefined, 1])
    expect(await codeOf(['cut', 200], [toJudged('burst', []), alive('skipped')])).toEqual([undefined, 1])
    expect(await codeOf(['cut', 'cut'], [toJudged('burst', []), alive('pass')])).toEqual([undefined, 0])
    expect(await codeOf([200, 'cut'], [])).toEqual([undefined, 0])
  })

  it('has ended if its connections are cut, and still are a moment later', async () => {
    const { scene } = await open(['cut'], 1)
    const finding = await findLate(scene, [])
    expect(finding).toMatchObject({ code: 'ended', isAbsent: false })
    expect(finding?.text).toContain('was answered any more: a delivery ended its process, or what is in front of it')
    expect(await codeOf(['cut', 'cut', 200], [])).toEqual([undefined, 2])
  })

  it('hangs if it answers nothing, and the checks follow of which nothing was accepted', async () => {
    const { scene } = await open(['never'], 1)
    const checks = [
      toJudged('late-retry', [LATE]),
      toJudged('burst', [toAnswer(), LATE]),
      toJudged('signature-sha1', [toAnswer()], { group: 'signature' }),
    ]
    expect(await findLate(scene, checks)).toMatchObject({ code: 'no_answer', isAbsent: false, also: ['late-retry'] })
    expect(await codeOf(never(8), [alive('fail')], 8)).toEqual(['no_answer', 0])
  })

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

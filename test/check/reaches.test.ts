import { describe, expect, it } from 'vitest'
import type { Answer } from '../../tools/check/case.ts'
import { sendAtOnce } from '../../tools/check/cases/send-at-once.ts'
import { createScene } from '../../tools/check/scene.ts'
import { OPTIONS, play, runIn, type Step, showVerdict } from './play.ts'
import { CUT, toAnswer } from './to-answer.ts'

const sceneOf = (url: string) => createScene({ ...OPTIONS, target: new URL(url) })

describe('deadline', () => {
  const PUT_OFF = { status: 503, headers: { 'retry-after': '1' } }

  it.each<readonly [status: string, first: Answer, second: Answer]>([
    ['pass', toAnswer({ ms: 2_000 }), CUT],
    ['warn', toAnswer({ ms: 2_001 }), CUT],
    ['warn', toAnswer({ ms: 9_999 }), CUT],
    ['fail', toAnswer({ ms: 10_000 }), CUT],
    ['fail', { ...CUT, ms: 1 }, CUT],
    ['pass', toAnswer({ status: 500, ms: 10 }), CUT],
    ['pass', toAnswer({ ...PUT_OFF, ms: 2_000 }), toAnswer({ ms: 10 })],
    ['warn', toAnswer({ ...PUT_OFF, ms: 10 }), toAnswer({ ms: 2_500 })],
    ['fail', toAnswer({ ...PUT_OFF, ms: 10 }), CUT],
    ['warn', toAnswer({ ...PUT_OFF, ms: 2_001 }), toAnswer({ ms: 10 })],
  ])('is %s if the answer is %j, and then %j', async (status, first, second) => {
    const scene = { ...sceneOf('http://localhost/'), sendOnce: async () => first, send: async () => second }
    expect((await runIn(scene, 'deadline')).status).toBe(status)
  })
})

describe('https', () => {
  it.each([
    ['https://hooks.example.test/', 'pass', 'https'],
    ['http://localhost:3000/', 'pass', 'http, on this machine only'],
    ['http://hooks.example.test/', 'warn', 'http to hooks.example.test'],
  ])('reads the URL only: %s', async (url, status, reason) => {
    expect(await runIn(sceneOf(url), 'https')).toEqual({ status, answers: [], note: reason })
  })
})

describe('keep-alive', () => {
  it.each<readonly [steps: readonly Step[], verdict: string]>([
    [[200, 401, 200, 401, 200], 'pass: 3 × 200, 2 × 401'],
    [[200, 200], 'fail: 5 × 200; answer 2 is wrong'],
    [[200, 401, 500], 'fail: 1 × 200, 1 × 401, 3 × 500; answer 3 is wrong'],
    [[200, 500, 200], 'fail: 4 × 200, 1 × 500; answer 2 is wrong'],
    [[200, 401, 200], 'fail: 4 × 200, 1 × 401; answer 4 is wrong'],
    [[200, 401, 200, 401, 400], 'fail: 2 × 200, 2 × 401, 1 × 400; answer 5 is wrong'],
    [[401, 401, 200], 'skipped: the event was not accepted: 2 × 401, 3 × 200'],
    [[200, [429, '1']], 'skipped: 1 × 200, 4 × 429'],
    [[200, 200, [429, '1']], 'fail: 2 × 200, 3 × 429; answer 2 is wrong'],
  ])('judges every answer after the first of %j', async (steps, expected) => {
    const { scene, seen } = await play(steps, { patienceMs: 50 })
    expect(showVerdict(await runIn(scene, 'keep-alive'))).toBe(expected)
    const [first, forged, third, unsigned] = seen.map(({ headers }) => headers['x-service-signature'])
    expect(forged).toBe(`sha256=${'0'.repeat(64)}`)
    expect(new Set([first, forged, third]).size).toBe(3)
    expect(unsigned).toBeUndefined()
    expect(new Set(seen.map(({ body }) => JSON.parse(body).id)).size).toBe(5)
  })
})

describe('a burst', () => {
  it.each<readonly [steps: readonly Step[], verdict: string]>([
    [[200, [503, '9']], 'warn: 1 × 200, 49 × 503'],
    [[200, 503], 'fail: 1 × 200, 49 × 503'],
    [[[503, '9']], 'fail: 50 × 503, put off for 9 s'],
    [[200, [503, '9'], 500], 'fail: 1 × 200, 1 × 503, 48 × 500'],
    [[...Array<Step>(49).fill([503, '9']), 500], 'fail: 1 × 500, 49 × 503'],
  ])('is judged by all of its answers: %j', async (steps, expected) => {
    const { scene, seen } = await play(steps, { patienceMs: 50 })
    const verdict = showVerdict(await runIn(scene, 'burst'))
    expect(verdict.replace(/\d+ × .*/, (counts) => counts.split(', ').sort().join(', '))).toBe(expected)
    expect(new Set(seen.map(({ body }) => JSON.parse(body).id)).size).toBe(50)
  })

  it('has 50 events, and then as many others as the receiver is quick enough for, up to 400', async () => {
    const { scene, seen } = await play([200], { patienceMs: 50 })
    const verdict = await runIn(scene, 'burst')
    expect(verdict).toMatchObject({ status: 'pass' })
    expect(new Set(seen.map(({ body }) => JSON.parse(body).id)).size).toBe(verdict.answers.length)
    expect(verdict.answers.length).toBeGreaterThanOrEqual(50)
    expect(verdict.answers.length).toBeLessThanOrEqual(450)
  })
})

describe('deliveries that are sent concurrently', () => {
  async function send(...rounds: readonly (readonly Answer[])[]) {
    const waits: number[] = []
    let sent = 0
    const answers = rounds.flat()
    const scene = {
      ...sceneOf('http://localhost/'),
      patienceMs: 2_000,
      sendOnce: async () => answers[sent++] ?? CUT,
      wait: async (ms: number) => {
        waits.push(ms)
      },
    }
    const deliveries = Array.from({ length: 2 }, () => scene.make.delivery('x'))
    const statuses = (await sendAtOnce(scene, deliveries)).map(({ status }) => status)
    return { statuses, waits, sent }
  }
  const off = (seconds: string) => toAnswer({ status: 429, headers: { 'retry-after': seconds } })

  it('are sent once if one of them was not put off', async () => {
    expect(await send([off('1'), toAnswer()])).toEqual({ statuses: [429, 200], waits: [], sent: 2 })
    expect(await send([toAnswer({ status: 503 }), off('1')])).toEqual({ statuses: [503, 429], waits: [], sent: 2 })
  })

  it('are sent again if all were put off, after the longest time', async () => {
    const again = { statuses: [200, 401], waits: [2_000], sent: 4 }
    expect(await send([off('2'), off('1')], [toAnswer(), toAnswer({ status: 401 })])).toEqual(again)
  })

  it('are sent once if that takes more than the patience', async () => {
    expect(await send([off('3'), off('1')])).toEqual({ statuses: [429, 429], waits: [], sent: 2 })
  })
})

import { describe, expect, it } from 'vitest'
import { diagnose, toDiagnosis } from '../../tools/check/diagnose.ts'
import type { Finding } from '../../tools/check/find-late.ts'
import { createScene } from '../../tools/check/scene.ts'
import { findFreePort } from '../support/programs.ts'
import { OPTIONS, play, type Step } from './play.ts'
import { toAnswer, toJudged } from './to-answer.ts'

/** Diagnoses a receiver with these answers: first to a plain delivery, then to one with a wrong signature, then to all others. */
async function find(...steps: readonly Step[]) {
  const { scene, seen } = await play(steps, { patienceMs: 100 })
  return { finding: await diagnose(scene), requests: seen.length }
}

describe('the reason why a plain delivery is not accepted', () => {
  it('is none if it is accepted the second time', async () => {
    expect(await find(200)).toEqual({ finding: undefined, requests: 1 })
  })

  it.each<readonly [code: string, status: number, text: RegExp, requests: number]>([
    ['redirect', 307, /^307: .*redirects/, 1],
    ['redirect', 308, /redirects/, 1],
    ['not_there', 404, /no such path/, 2],
    ['not_there', 405, /does not take POST/, 2],
    ['not_taken', 413, /larger than/, 2],
    ['not_taken', 415, /content type/, 2],
    ['put_off', 429, /limits requests/, 1],
  ])('is %s for the status %d, and no other form is tried', async (code, status, text, requests) => {
    const found = await find(status)
    expect(found).toEqual({
      finding: { code, text: expect.stringMatching(text), isAbsent: true, also: [] },
      requests,
    })
  })

  it.each<readonly [code: string, step: Step, text: RegExp]>([
    [
      'refused',
      400,
      /^The receiver refuses a plain delivery in every form: 400 after .*another secret.*account key.*CSRF/,
    ],
    ['refused', 499, /^The receiver refuses a plain delivery in every form: 499 after /],
    ['server_error', 500, /^The receiver fails at a plain delivery: 500 after .*; often a body parser/],
    ['server_error', 502, /^502 after \d+ ms: .*cannot reach it\. Is the receiver running/],
    ['server_error', [503, '3600'], /^503 after \d+ ms: .*a proxy or tunnel/],
    ['server_error', 504, /^504 after .*cannot reach it/],
    ['cut_off', 'cut', /^The receiver fails at a plain delivery: .*If it speaks TLS, its URL begins with https\.$/],
  ])('is %s for a receiver that answers everything with %s, in every form', async (code, step, text) => {
    const { finding, requests } = await find(step)
    expect(finding).toEqual({ code, text: expect.stringMatching(text), isAbsent: false, also: [] })
    expect(requests).toBeGreaterThan(20)
  })

  it('is the first form that is accepted, with the checks that fail because of it', async () => {
    expect((await find(401, 401, 401, 200)).finding).toMatchObject({ code: 'other_header', isAbsent: false, also: [] })
    const others = Array<Step>(24).fill(401) // the headers of other services, the name in lower case, and `test-secret`
    expect((await find(401, 401, 401, ...others, 200)).finding).toMatchObject({
      code: 'no_prefix',
      also: ['signature-no-prefix'],
    })
  })

  it.each<readonly [code: string, status: number]>([
    ['refused', 401],
    ['server_error', 500],
  ])(
    'is %s, and not another header, for a receiver that answers %d unless the signature is missing',
    async (code, status) => {
      const { finding } = await find(status, status, 200, status)
      expect(finding).toMatchObject({
        code,
        text: expect.stringContaining('accepts one without a signature'),
        also: [],
      })
    },
  )

  it('is that nothing listens, or answers in time', async () => {
    const target = new URL(`http://127.0.0.1:${await findFreePort()}/`)
    expect(await diagnose(createScene({ ...OPTIONS, target }))).toEqual({
      code: 'unreachable',
      text: expect.stringContaining('Is your app running'),
      isAbsent: true,
      also: [],
    })
    const { scene } = await play(['never'], { timeoutMs: 100 })
    expect(await diagnose(scene)).toEqual({
      ...{
        code: 'no_answer',
        text: expect.stringMatching(/^no answer within 0.1 s. Acknowledge first/),
        isAbsent: true,
        also: [],
      },
    })
  })
})

const REFUSED = [toAnswer({ status: 401 })]

describe('the checks that follow from a diagnosis', () => {
  const checks = [
    toJudged('accepts-valid', REFUSED, { group: 'reach' }),
    toJudged('late-retry', REFUSED),
    toJudged('timestamp-ahead', REFUSED, { status: 'warn' }),
    toJudged('timestamp-offset', REFUSED, { status: 'pass' }),
    toJudged('timestamp-no-fraction', REFUSED, { status: 'skipped' }),
    toJudged('signature-missing', REFUSED, { group: 'signature' }),
    toJudged('signature-sha1', REFUSED, { group: 'signature' }),
    toJudged('leak-stack', REFUSED, { group: 'leak' }),
    toJudged('https', REFUSED, { group: 'reach', status: 'warn' }),
    toJudged('get-not-2xx', REFUSED, { group: 'reach', status: 'warn' }),
  ]
  const followsOf = (code: Finding['code'], also: readonly string[] = []) =>
    toDiagnosis({ code, text: 'Text.', isAbsent: false, also }, checks).follows

  it('are those that need an accepted delivery, and did not pass', () => {
    expect(followsOf('refused')).toEqual(['late-retry', 'timestamp-ahead'])
  })

  it('are also the signature checks that fail because of the same mistake', () => {
    expect(followsOf('other_algorithm', ['signature-sha1'])).toEqual([
      'late-retry',
      'timestamp-ahead',
      'signature-sha1',
    ])
  })

  it.each(['server_error', 'cut_off'] as const)('are all if the receiver fails at everything: %s', (code) => {
    const all = ['signature-missing', 'signature-sha1', 'leak-stack', 'https', 'get-not-2xx']
    expect(followsOf(code)).toEqual(['late-retry', 'timestamp-ahead', ...all])
  })

  it.each(['server_error', 'cut_off'] as const)('are none that show more than the failure: %s', (code) => {
    const own = [
      toJudged('signature-missing', [toAnswer()], { group: 'signature' }),
      toJudged('signature-other-types', [toAnswer({ status: 204 })], { group: 'signature' }),
      toJudged('get-not-2xx', [toAnswer()], { group: 'reach', status: 'warn' }),
      toJudged('leak-secret', [], { group: 'leak' }),
      toJudged('leak-digest', [], { group: 'leak' }),
    ]
    expect(toDiagnosis({ code, text: 'Text.', isAbsent: false, also: [] }, own).follows).toEqual([])
  })
})

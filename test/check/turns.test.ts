import { describe, expect, it } from 'vitest'
import type { TestDelivery } from '../../tools/check/case.ts'
import { CASES } from '../../tools/check/cases.ts'
import { capAt, toReason } from '../../tools/check/verdict.ts'
import { listTypes } from '../../tools/check/work.ts'
import { MISSING_SECRETS } from '../../tools/wire/signature-mistakes.ts'
import { play, runIn, type Step, showVerdict } from './play.ts'
import { CUT, toAnswer } from './to-answer.ts'

async function judge(id: string, steps: readonly Step[]) {
  const { scene, seen } = await play(steps, { patienceMs: 50 })
  const verdict = await runIn(scene, id)
  const parse = () => seen.map(({ body }) => JSON.parse(body))
  return { verdict: showVerdict(verdict), seen, parse }
}

describe('a check of several deliveries', () => {
  it.each<readonly [id: string, steps: readonly Step[], verdict: string]>([
    ...['created-after-updated', 'same-email'].flatMap((id) => [
      [id, [200, 202], 'pass: first 200, then 202'] as const,
      [id, [401, 200], 'skipped: the event was not accepted: 401'] as const,
      [id, [200, 409], `${id === 'same-email' ? 'warn' : 'fail'}: first 200, then 409`] as const,
    ]),
    ['duplicate', [401], 'skipped: first 401, then 401'],
    ['duplicates-at-once', [200], 'pass: 8 × 200'],
    ['duplicates-at-once', [[429, '1']], 'skipped: the event was not accepted'],
    ['one-record-at-once', [200], 'pass: first 200, then 200'],
    ['answer-ends', [200, 200, 401], 'pass: 2 × 200, 2 × 401'],
    ['answer-ends', ['cut'], 'skipped: the event was not accepted: 4 × the connection ended without an answer'],
    ['timestamp-fractions', [200, 500, 200], 'fail: 500; 2 digits'],
    ['record-fields-missing', [200, 200, 500, 500, 200], 'warn: 500; lastName absent, lastName null'],
    ['other-models', [200, 200, 500, 200], 'fail: 500; opportunity.deleted'],
    ['unknown-model', [200, 200, 500], 'fail: 500; checkThing.deleted'],
    [
      'signature-no-secret',
      [[429, '1']],
      `fail: 429, put off for 1 s; signed with "", signed with "undefined", signed with "null", signed with "None", signed with "<nil>", signed with "nil" and ${MISSING_SECRETS.length - 6} more`,
    ],
    ['signature-no-secret', [401], 'pass: 401'],
    ['signature-no-secret', [200, 401], 'fail: 200; signed with ""'],
    ['signature-no-secret', [401, 401, 401, 200, 401], 'fail: 200; signed with "None"'],
    ['signature-form', [401], 'pass: 401'],
    ['signature-form', [200, 401], 'fail: 200; as application/x-www-form-urlencoded'],
    ['signature-form', [401, 200], 'fail: 200; as multipart/form-data'],
    ['signature-one-digit', [401], 'pass: 401'],
    ['signature-one-digit', [200, 401], 'fail: 200; with another first digit'],
    ['signature-one-digit', [401, 200], 'fail: 200; with another last digit'],
    ['signature-of-duplicate', [200, 401], 'pass: 401'],
    ['signature-of-duplicate', [200], 'fail: 200'],
    ['signature-of-duplicate', [403, 401], 'skipped: the event was not accepted: 403'],
    ['signature-remembered', [200, 401], 'pass: 401'],
    ['signature-remembered', [200], 'fail: 200'],
    ['signature-remembered', [403, 401], 'skipped: the event was not accepted: 403'],
    ['gzip-before-signing', [415], 'pass: 415'],
    ['gzip-before-signing', ['cut'], 'fail: the connection ended without an answer'],
    ['gzip-before-signing', [200], 'pass: first 200, then 200; it takes any signed bytes unseen'],
    ['gzip-before-signing', [200, 400], 'fail: first 200, then 400; the second is no gzip: the first was unpacked'],
    ['signature-other-types', [401], 'pass: 401'],
    ['gzip-after-signing', [415], 'pass: 415'],
    ['gzip-after-signing', [500], 'fail: 500'],
    ['gzip-after-signing', [200, 413], 'warn: first 200, then 413'],
    ['gzip-after-signing', [200], 'fail: first 200, then 200'],
    ['endless-body', [413], 'pass: 413'],
    ['signature-pattern', [401, 401, 200, 401], 'fail: 200; %'],
    ['endless-body', [401], 'warn: 401; it read 16 MiB; in chunked encoding, with a declared length'],
    ['signature-unknown-account', [401], 'pass: 401'],
    ['signature-unknown-account', [401, 500, 401], 'fail: 500; of "constructor"'],
    ['signature-unknown-account', [401, 401, 200, 401], 'fail: 200; signed with ""'],
    ['signature-unknown-account', [401, 401, 401, 200, 401], 'fail: 200; signed with "undefined"'],
  ])('%s judges the answers %j', async (id, steps, expected) => {
    expect((await judge(id, steps)).verdict).toBe(expected)
  })

  it.each<readonly [id: string, later: number, status: string]>([
    ['duplicate', 202, 'pass'],
    ['duplicate', 409, 'fail'],
    ...[409, 425, 429, 503].map((busy) => ['duplicates-at-once', busy, 'warn'] as const),
    ['duplicates-at-once', 500, 'fail'],
  ])('%s judges %i to all deliveries of an event but the first: %s', async (id, later, status) => {
    const ids = new Set<unknown>()
    const { scene } = await play([200], { patienceMs: 50 })
    const sendOnce = async ({ event }: TestDelivery) =>
      toAnswer({ status: ids.size < ids.add(event?.id).size ? 200 : later })
    expect((await runIn({ ...scene, sendOnce, send: sendOnce }, id)).status).toBe(status)
  })

  it('signs with no word that is the secret of the receiver', async () => {
    const { scene, seen } = await play([401], { secret: 'test-secret' })
    await runIn(scene, 'signature-no-secret')
    expect(seen).toHaveLength(MISSING_SECRETS.length - 1)
  })

  it('sends forms that hold the fields of an event, and the whole of it', async () => {
    const { scene, seen } = await play([401])
    await runIn(scene, 'signature-form')
    const forms = await Promise.all(
      seen.map(({ headers, body }) => {
        const given = { 'content-type': `${headers['content-type']}` }
        return new Response(body, { headers: given }).formData()
      }),
    )
    for (const form of forms) {
      const { payload, ...fields } = Object.fromEntries(form)
      const { data, ...envelope } = JSON.parse(`${payload}`)
      expect(fields).toEqual({ ...envelope, 'data[record][_id]': expect.stringMatching(/^[0-9a-f]{24}$/) })
      expect(data.record.lastName).toBe('Check')
    }
    expect(seen.map(({ headers }) => headers['x-service-signature'])).toEqual(Array(2).fill(`sha256=${'0'.repeat(64)}`))
  })

  it('sends forgeries of every type that another check sends, with a wrong signature and without one', async () => {
    const { scene } = await play([200])
    const types: unknown[] = []
    const send = async ({ body, signatures }: TestDelivery) => {
      const { type, test } = JSON.parse(Buffer.from(body).toString())
      types.push(test === true ? 'a test' : type)
      return toAnswer({ status: type === 'sync.failed' && signatures.length === 0 ? 200 : 401 })
    }
    const verdict = await runIn({ ...scene, send }, 'signature-other-types')
    expect(showVerdict(verdict)).toBe('fail: 200; sync.failed without a signature')
    const sent = [
      ...listTypes(scene.make),
      'checkThing.deleted',
      'check.unheard.of',
      'ping',
      'webhook.test',
      'a test',
      undefined,
    ]
    for (const type of sent) expect(types.filter((each) => each === type)).toHaveLength(2)
  })

  it('sends forgeries of accounts that nobody has', async () => {
    const accounts = await judge('signature-unknown-account', [401])
    expect(accounts.parse().map(({ accountKey }) => accountKey)).toEqual([
      ...['check-unheard-of', 'constructor', ...Array(MISSING_SECRETS.length).fill('check-unheard-of')],
    ])
    const forged = accounts.seen.map(({ headers }) => headers['x-service-signature'])
    expect(forged.slice(0, 2)).toEqual(Array(2).fill(`sha256=${'0'.repeat(64)}`))
    expect(new Set(forged).size).toBe(1 + MISSING_SECRETS.length)
  })
})

it.each([
  [501, 'pass'],
  [500, 'fail'],
])(
  'takes 501 for a refusal of other methods, as the server of Python answers, and not %s',
  async (status, expected) => {
    const { scene, seen } = await play([status])
    expect((await runIn(scene, 'signature-put')).status).toBe(expected)
    expect(seen.map(({ method }) => method)).toEqual(['PUT', 'PATCH', 'DELETE'])
  },
)

describe('a check of one delivery', () => {
  const STATUSES = [200, 302, 400, 401, 413, 500, undefined]

  it.each([
    ['get-not-2xx', 'warn pass pass pass pass pass warn'],
    ['signature-no-prefix', 'warn warn pass pass pass warn warn'],
    ['signature-hex-case', 'pass fail pass info pass fail fail'],
    ['unknown-account', 'pass warn pass pass pass warn warn'],
    ['huge-body', 'pass fail warn warn pass fail warn'],
    ['bytes-duplicate-keys', 'pass warn warn warn warn warn warn'],
    ['text-half-character', 'pass warn info info info warn warn'],
  ])(`%s judges the statuses ${STATUSES.slice(0, -1).join(', ')} and none`, (id, verdicts) => {
    const single = CASES.find((each) => each.id === id)
    if (single === undefined || !('judge' in single)) throw new Error(`${id} does not judge one answer`)
    const judged = STATUSES.map((status) =>
      capAt(single.level, single.judge(status === undefined ? CUT : toAnswer({ status }))),
    )
    expect(judged.map(({ status }) => status).join(' ')).toBe(verdicts)
    for (const [at, verdict] of judged.entries())
      expect(toReason(verdict)).toContain(
        STATUSES[at] === undefined ? 'without an answer' : `${STATUSES[at]} after 5 ms`,
      )
  })
})

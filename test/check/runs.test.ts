import { getEventListeners } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkReceiver, formatReport, type Probe } from 'postern/check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CASES } from '../../tools/check/cases.ts'
import { listen } from '../adapters/http/hosts.ts'
import { findFreePort } from '../support/programs.ts'
import { SECRET } from './faulty/hand-written.ts'
import { LeaksDigest } from './faulty/signatures.ts'
import { LosesEverySecondContact } from './faulty/types.ts'
import { checkAt, judge } from './judge.ts'

const PROBE: Probe = { runs: async () => 1, fail: async () => {} }

const accept: RequestListener = (request, response) => {
  request.resume().on('end', () => response.end())
}

/** A receiver whose process ends at the request after so many. */
function endsAfter(answered: number) {
  let requests = 0
  const server = createServer((request, response) => {
    if (++requests <= answered) return accept(request, response)
    server.close()
    server.closeAllConnections()
  })
  return server
}

/** Answers nothing until this many requests are under way, then all of them, and so on for the next number; lists how many there were. */
function hold(...numbers: readonly number[]) {
  const held: number[] = []
  const pending: (() => void)[] = []
  const listener: RequestListener = async (request, response) => {
    request.resume()
    if (request.method === 'GET') return void response.end() // the check of split bodies waits for it
    pending.push(() => response.end())
    if (pending.length !== numbers[held.length]) return
    await sleep(50) // for more of them, which should not come
    held.push(pending.length)
    for (const answer of pending.splice(0)) answer()
  }
  return { held, listener }
}

describe('a run', () => {
  it.each<readonly [concurrency: number | undefined, held: readonly number[]]>([
    [undefined, [8, 3]],
    [1, Array(10).fill(1)],
    [3, [3, 3, 3, 2]],
  ])('with the concurrency %s has %j checks under way', async (concurrency, expected) => {
    const { held, listener } = hold(...expected)
    await checkAt(listener, { only: ['bytes'], ...(concurrency !== undefined && { concurrency }) })
    expect(held).toEqual(expected)
  })

  it.each<readonly [only: readonly string[], held: readonly number[]]>([
    [
      ['accepts-valid', 'signed-empty', 'signed-null', 'alive-after-all'],
      [1, 1, 1, 1],
    ],
    [
      ['accepts-valid', 'header-lower-case', 'bytes-compact', 'id-long', 'signed-null'],
      [1, 3, 1],
    ],
  ])('does nothing else while a check runs that needs the receiver for itself: %j', async (only, expected) => {
    const { held, listener } = hold(...expected)
    await checkAt(listener, { only })
    expect(held).toEqual(expected)
  })

  it('tells who, what and when, and for each check its own page', async () => {
    const before = Date.now()
    const { url, report } = await checkAt(accept, { only: ['bytes-compact', 'burst'] })
    const { startedAt, checks, unchecked, ...rest } = report
    expect(unchecked.map(({ code }) => code)).toEqual([
      'crash',
      'stored',
      'accounts',
      'tries',
      'processes',
      'bursts',
      'retention',
      'timing',
    ])
    expect(rest).toEqual({
      schema: 1,
      tool: 'postern',
      target: url,
      isReachable: true,
      summary: { pass: 2, fail: 0, warn: 0, info: 0, skipped: 0 },
    })
    expect(Date.parse(startedAt)).toBeGreaterThanOrEqual(before)
    expect(checks.map(({ id }) => id)).toEqual(['bytes-compact', 'burst'])
    for (const { id, ms, reason, repro, ...told } of checks) {
      const {
        group,
        level,
        sends: sent,
        expects: expected,
        why,
        fix: hint,
      } = CASES.find((each) => each.id === id) ?? {}
      const doc = `npx postern check --explain ${id}`
      expect(told).toEqual({ group, level, status: 'pass', sent, expected, why, hint, doc })
      expect(reason).toMatch(id === 'burst' ? /^\d{3} × 200$/ : /^200 after \d+ ms$/)
      expect(repro).toMatch(id === 'burst' ? `npx postern check '${url}' --only burst` : /^curl -i .*webhooks/)
      expect(ms).toBeGreaterThanOrEqual(0)
      expect(Number.isInteger(ms)).toBe(true)
    }
  })

  it('sends events of the account "check" unless another is given', async () => {
    const accounts: string[] = []
    const record: RequestListener = async (request, response) => {
      for await (const part of request) accounts.push(JSON.parse(part).accountKey)
      response.end()
    }
    await checkAt(record, { only: ['bytes-compact'] })
    await checkAt(record, { only: ['bytes-compact'], accountKey: 'acme' })
    expect(accounts).toEqual(['check', 'acme'])
  })

  it.each<readonly [type: string, plain: string, changed: string]>([
    ['financeInvoice.*', 'financeInvoice.created', 'financeInvoice.updated'],
    ['financeInvoice.deleted', 'financeInvoice.deleted', 'financeInvoice.updated'],
    ['finance.payment.*', 'finance.payment.completed', 'contact.updated'],
    ['invoice.paid', 'invoice.paid', 'contact.updated'],
  ])('judges a receiver by events of the type that the owner names: %s', async (type, plain, changed) => {
    const types: string[] = []
    const record: RequestListener = async (request, response) => {
      for await (const part of request) types.push(JSON.parse(part).type)
      response.end()
    }
    const { report } = await checkAt(record, { only: ['accepts-valid', 'updated-before-created'], type })
    expect(types).toEqual([plain, changed])
    expect(report.checks[0]?.sent).toMatch(plain)
    expect(report.checks[1]?.sent).toMatch(changed)
  })

  it('waits for all lost work at the same time', async () => {
    // These take time for other reasons.
    const skip = ['deadline', 'effect-once-after-others', 'effect-once-at-end', 'effect-after-failures']
    const started = performance.now()
    const { checks } = await judge(new LosesEverySecondContact(), { patienceMs: 2_000, skip })
    const lost = checks.filter(({ cause }) => cause === 'not_done').map(({ ms }) => ms)
    const sum = lost.reduce((before, ms) => before + ms, 0)
    expect(sum).toBeGreaterThan(3 * (performance.now() - started))
  })

  it.each([
    ['no receiver answers there', 404, ['skipped', 'skipped']],
    ['a plain delivery is not accepted', 401, ['fail', 'skipped']],
  ])('goes on only as far as it makes sense: %s', async (reason, status, statuses) => {
    const refuse: RequestListener = (request, response) => {
      request.resume().on('end', () => response.writeHead(status).end())
    }
    const only = ['accepts-valid', 'late-retry', 'effect-once']
    const { report } = await checkAt(refuse, { only, probe: PROBE })
    expect(report.checks.map((each) => each.status)).toEqual(['fail', ...statuses])
    expect(report.checks.at(-1)?.reason).toBe(reason)
    const diagnosed = { diagnosis: { code: status === 404 ? 'not_there' : 'refused' } }
    expect(report).toMatchObject({ isReachable: true, ...diagnosed })
  })

  it('looks for no cause of another failure than that of a plain delivery', async () => {
    let requests = 0
    const refuse: RequestListener = (request, response) => {
      requests++
      request.resume().on('end', () => response.writeHead(401).end())
    }
    const { report } = await checkAt(refuse, { only: ['late-retry', 'effect-each-event'], probe: PROBE })
    expect(report).not.toHaveProperty('diagnosis')
    expect(report.checks.map(({ status }) => status)).toEqual(['fail', 'skipped'])
    // One for the first check; two events of each of 15 types, twelve creations and three more, to see which are counted; of each of three models, one with three more, and the first of a sequence; and those of three more sequences.
    expect(requests).toBe(1 + 30 + 12 + 3 + 3 * (4 + 1) + 3)
  })

  it('names the end of a receiver that no longer listens', async () => {
    const { report } = await checkAt(endsAfter(3), { only: ['time'], concurrency: 1 })
    const text = expect.stringContaining('ended without an answer in timestamp-fractions. ')
    expect(report.diagnosis).toMatchObject({ code: 'ended', text, follows: ['timestamp-offset', 'timestamp-ahead'] })
    expect(report.isReachable).toBe(true)
    expect(report.checks.map(({ status }) => status)).toEqual(['pass', 'pass', 'pass', 'fail', 'warn', 'warn'])
  })

  it.each<readonly [what: string, thrown: unknown, reason: string]>([
    ['an error', new Error('no database'), 'could not be judged: no database'],
    ['something else', 'no database', 'could not be judged: no database'],
  ])('blames a probe that throws %s, and goes on', async (_what, thrown, reason) => {
    const probe: Probe = { ...PROBE, runs: () => Promise.reject(thrown) }
    const { report } = await checkAt(accept, { only: ['effect-once', 'alive-after-all'], probe })
    const [first, last] = report.checks
    expect(first).toMatchObject({ status: 'fail', reason, hint: expect.stringContaining('The probe has to') })
    expect(first?.repro).toContain('--only effect-once')
    expect(last?.status).toBe('pass')
  })

  it('leaves no listener at its signal', async () => {
    const { signal } = new AbortController()
    const before = getEventListeners(signal, 'abort').length
    await checkAt(accept, { only: ['bytes-compact'], signal })
    expect(getEventListeners(signal, 'abort')).toHaveLength(before)
  })

  it('judges answers at their status, and waits for no body', async () => {
    const neverEnd: RequestListener = (request, response) => {
      request.resume().on('end', () => response.flushHeaders())
    }
    const only = ['accepts-valid', 'deadline', 'bytes', 'burst', 'alive-after-all']
    const { report } = await checkAt(neverEnd, { only, timeoutMs: 600_000 })
    expect(report.summary).toEqual({ pass: report.checks.length, fail: 0, warn: 0, info: 0, skipped: 0 })
  })

  it('takes a URL with a password and a query, of which no report shows the values, nor a digest or an answer', async () => {
    const { port, close } = await listen(new LeaksDigest().createServer())
    onTestFinished(close)
    const url = new URL(`http://ada:lovelace@127.0.0.1:${port}/webhooks?token=opensesame`)
    const report = await checkReceiver(url, { secret: Buffer.from(SECRET), skip: ['load', 'deadline', 'effect'] })
    expect(report.checks.filter(({ status }) => status === 'fail').map(({ id }) => id)).toEqual(['leak-digest'])
    for (const format of ['json', 'junit', 'markdown'] as const) {
      const text = formatReport(report, format)
      for (const word of [SECRET, 'lovelace', 'opensesame', 'expected sha256']) expect(text).not.toContain(word)
      expect(text).not.toMatch(/[0-9a-f]{40}/)
    }
  })

  it('runs the requested checks, by id and by group, names those that it left out, and reports its progress', async () => {
    const progress: unknown[] = []
    const { report } = await checkAt(accept, {
      only: ['time', 'duplicate', 'accepts-valid'],
      skip: ['duplicate', 'late-retry'],
      onProgress: (each) => progress.push(each),
    })
    expect(report.checks.map(({ id, status, reason, ms }) => (ms === 0 ? [id, status, reason] : [id, status]))).toEqual(
      [
        ['accepts-valid', 'pass'],
        ['duplicate', 'skipped', 'not asked for'],
        ['late-retry', 'skipped', 'not asked for'],
        ...['late-replay', 'timestamp-no-fraction', 'timestamp-fractions', 'timestamp-offset', 'timestamp-ahead'].map(
          (id) => [id, 'pass'],
        ),
      ],
    )
    expect(report.summary).toEqual({ pass: 6, fail: 0, warn: 0, info: 0, skipped: 2 })
    expect(progress).toHaveLength(16)
    expect(progress[0]).toEqual({ done: 0, total: 8, running: ['accepts-valid'] })
    expect(progress.at(-1)).toEqual({ done: 8, total: 8, running: [] })
  })

  it('reports if nothing answers, and goes no further', async () => {
    const report = await checkReceiver(`http://127.0.0.1:${await findFreePort()}/`, { secret: SECRET })
    expect(report).toMatchObject({
      isReachable: false,
      diagnosis: { code: 'unreachable' },
      summary: { pass: 0, fail: 1 },
    })
    expect(report.checks[0]).toMatchObject({ id: 'accepts-valid', status: 'fail' })
  })

  it('sends nothing more once it is interrupted, whatever it waits for, and bases no result on it', async () => {
    const stop = new AbortController()
    let requests = 0
    const hang: RequestListener = (request, response) => {
      if (++requests === 1) request.resume().on('end', () => response.end())
      else stop.abort()
    }
    const { report } = await checkAt(hang, {
      only: ['effect-once', 'effect-ack-after-work'],
      probe: PROBE,
      timeoutMs: 600_000,
      signal: stop.signal,
    })
    expect(report.checks.map(({ status, reason }) => `${status}: ${reason}`)).toEqual(
      Array(2).fill('skipped: interrupted'),
    )
  })
})

import { getEventListeners } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CheckOptions, checkReceiver, type Probe } from 'postern/check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CASES } from '../../src/check/cases.ts'
import { listen } from '../adapters/http/hosts.ts'
import { findFreePort } from '../support/programs.ts'
import { endsAfter } from './ends-after.ts'
import { HandWritten, SECRET } from './faulty/hand-written.ts'
import { told } from './judge.ts'

const PROBE: Probe = { runs: async () => 1, fail: async () => {} }

async function check(listener: RequestListener, options: Partial<CheckOptions> = {}) {
  const { port, close } = await listen(createServer(listener))
  onTestFinished(close)
  const url = `http://127.0.0.1:${port}/webhooks`
  return { url, report: await checkReceiver(url, { secret: SECRET, patienceMs: 200, ...options }) }
}

const accept: RequestListener = (request, response) => {
  request.resume().on('end', () => response.end())
}

/** Answers nothing until this many requests are under way, then all of them, and so on for the next number; lists how many there were. */
function hold(...numbers: readonly number[]) {
  const held: number[] = []
  const pending: (() => void)[] = []
  const listener: RequestListener = async (request, response) => {
    request.resume()
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
    [undefined, [8, 4]],
    [1, Array(12).fill(1)],
    [3, [3, 3, 3, 3]],
  ])('with the concurrency %s has %j checks under way', async (concurrency, expected) => {
    const { held, listener } = hold(...expected)
    await check(listener, { only: ['bytes'], ...(concurrency !== undefined && { concurrency }) })
    expect(held).toEqual(expected)
  })

  it.each<readonly [only: readonly string[], held: readonly number[]]>([
    [
      ['accepts-valid', 'no-redirect', 'signed-null', 'alive-after-all'],
      [1, 1, 1, 1],
    ],
    [
      ['no-redirect', 'header-lower-case', 'bytes-compact', 'id-long', 'signed-null'],
      [1, 3, 1],
    ],
  ])('does nothing else while a check runs that needs the receiver for itself: %j', async (only, expected) => {
    const { held, listener } = hold(...expected)
    await check(listener, { only })
    expect(held).toEqual(expected)
  })

  it('tells who, what and when, and for each check its own page', async () => {
    const before = Date.now()
    const { url, report } = await check(accept, { only: ['bytes-compact', 'burst'] })
    const { startedAt, checks, ...rest } = report
    expect(rest).toEqual({
      ...{ schema: 1, tool: 'postern', target: url, isReachable: true },
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
      expect(reason).toMatch(id === 'burst' ? /^50 × 200$/ : /^200 after \d+ ms$/)
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
    await check(record, { only: ['bytes-compact'] })
    await check(record, { only: ['bytes-compact'], accountKey: 'acme' })
    expect(accounts).toEqual(['check', 'acme'])
  })

  it('leaves out what is not wanted, and says so', async () => {
    const { report } = await check(accept, { only: ['time', 'bytes-compact'], skip: ['time'] })
    expect(report.checks.map(({ id, status, reason, ms }) => [id, status, reason, ms]).slice(1)).toEqual(
      ['late-retry', 'timestamp-no-fraction', 'timestamp-offset', 'timestamp-ahead'].map((id) => [
        ...[id, 'skipped', 'not asked for', 0],
      ]),
    )
  })

  it.each([
    ['no receiver answers there', 404, ['skipped', 'skipped']],
    ['a plain delivery is not accepted', 401, ['fail', 'skipped']],
  ])('goes on only as far as it makes sense: %s', async (reason, status, statuses) => {
    const refuse: RequestListener = (request, response) => {
      request.resume().on('end', () => response.writeHead(status).end())
    }
    const only = ['accepts-valid', 'late-retry', 'effect-once']
    const { report } = await check(refuse, { only, probe: PROBE })
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
    const { report } = await check(refuse, { only: ['late-retry', 'effect-each-event'], probe: PROBE })
    expect(report).not.toHaveProperty('diagnosis')
    expect(report.checks.map(({ status }) => status)).toEqual(['fail', 'skipped'])
    expect(requests).toBe(2)
  })

  it('names the end of a receiver that no longer listens', async () => {
    const { port } = await listen(endsAfter(2, accept))
    const options = { secret: SECRET, only: ['time'], concurrency: 1 }
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, options)
    expect(report.diagnosis).toMatchObject({ code: 'ended', follows: ['timestamp-ahead'] })
    expect(report.isReachable).toBe(true)
    expect(report.checks.map(({ status }) => status)).toEqual(['pass', 'pass', 'warn', 'warn'])
  })

  it.each<readonly [what: string, thrown: unknown, reason: string]>([
    ['an error', new Error('no database'), 'could not be judged: no database'],
    ['something else', 'no database', 'could not be judged: no database'],
  ])('blames a probe that throws %s, and goes on', async (_what, thrown, reason) => {
    const probe: Probe = { ...PROBE, runs: () => Promise.reject(thrown) }
    const { report } = await check(accept, { only: ['effect-once', 'alive-after-all'], probe })
    const [first, last] = report.checks
    expect(first).toMatchObject({ status: 'fail', reason, hint: expect.stringContaining('The probe has to') })
    expect(first?.repro).toContain('--only effect-once')
    expect(last?.status).toBe('pass')
  })

  it('leaves no listener at its signal', async () => {
    const { signal } = new AbortController()
    const before = getEventListeners(signal, 'abort').length
    await check(accept, { only: ['bytes-compact'], signal })
    expect(getEventListeners(signal, 'abort')).toHaveLength(before)
  })

  it('can be interrupted while it looks for the cause of a refusal', async () => {
    const stop = new AbortController()
    let requests = 0
    const refuse: RequestListener = (request, response) => {
      if (++requests === 4) stop.abort()
      request.resume().on('end', () => response.writeHead(401).end())
    }
    const { report } = await check(refuse, { only: ['accepts-valid', 'late-retry'], signal: stop.signal })
    expect(report).not.toHaveProperty('diagnosis')
    expect(report.checks.map(({ status, reason }) => `${status}: ${reason}`)).toEqual([
      expect.stringMatching(/^fail: 401 after/),
      'skipped: interrupted',
    ])
  })

  it('reports its progress after each check', async () => {
    const progress: unknown[] = []
    await check(accept, { only: ['time'], skip: ['late-retry'], onProgress: (each) => progress.push(each) })
    expect(progress).toEqual([1, 2, 3, 4].map((done) => ({ done, total: 4 })))
  })

  it('takes a URL with a query and a secret of bytes', async () => {
    const { port, close } = await listen(new HandWritten().createServer())
    onTestFinished(close)
    const url = new URL(`http://127.0.0.1:${port}/webhooks?token=x`)
    const report = await checkReceiver(url, {
      secret: Buffer.from(SECRET),
      only: ['accepts-valid', 'signature-missing'],
    })
    expect(report.summary.pass).toBe(2)
    expect(report.target).toMatch(/\?token=xxx$/)
  })

  it('runs the requested checks, by id and by group, and names those that it left out', async () => {
    const { port, close } = await listen(new HandWritten().createServer())
    onTestFinished(close)
    const url = `http://127.0.0.1:${port}/webhooks`
    const done: number[] = []
    const report = await checkReceiver(url, {
      secret: SECRET,
      only: ['time', 'duplicate', 'accepts-valid'],
      skip: ['duplicate'],
      onProgress: ({ done: count, total }) => done.push(count / total),
    })
    expect(report.checks.map(({ id, status }) => [id, status])).toEqual([
      ['accepts-valid', 'pass'],
      ['duplicate', 'skipped'],
      ['late-retry', 'pass'],
      ['timestamp-no-fraction', 'pass'],
      ['timestamp-offset', 'pass'],
      ['timestamp-ahead', 'pass'],
    ])
    expect(report.summary).toEqual({ pass: 5, fail: 0, warn: 0, info: 0, skipped: 1 })
    expect(done).toEqual([1, 2, 3, 4, 5, 6].map((count) => count / 6))
  })

  it('reports if nothing answers, and goes no further', async () => {
    const report = await checkReceiver(`http://127.0.0.1:${await findFreePort()}/`, { secret: SECRET })
    expect(report.isReachable).toBe(false)
    expect(Object.keys(told(report, 'fail'))).toEqual(['accepts-valid'])
    expect(report.summary.pass).toBe(0)
  })

  it('sends nothing more once nothing has answered, even without a plain delivery', async () => {
    const url = `http://127.0.0.1:${await findFreePort()}/`
    const { checks } = await checkReceiver(url, { secret: SECRET, only: ['late-retry', 'id-long'], concurrency: 1 })
    expect(checks.map(({ status, reason }) => `${status}: ${reason}`)).toEqual([
      expect.stringMatching(/^warn: the connection was refused/),
      'skipped: nothing answers there',
    ])
  })

  it('sends nothing more once it is interrupted', async () => {
    let requests = 0
    const stop = new AbortController()
    const { port, close } = await listen(
      createServer((request, response) => {
        requests++
        stop.abort()
        request.resume().on('end', () => response.end())
      }),
    )
    onTestFinished(close)
    const report = await checkReceiver(`http://127.0.0.1:${port}/`, { secret: SECRET, signal: stop.signal })
    expect(requests).toBe(1)
    expect(report.checks.filter(({ reason }) => reason === 'interrupted')).toHaveLength(report.checks.length - 1)
  })
})

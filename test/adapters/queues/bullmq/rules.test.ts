import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { bullmqInbox } from 'postern/bullmq'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { TakenItem } from '../../../../src/engine.ts'
import { redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { serverFor } from '../../../engines/server-for.ts'
import { bury, DONE, makeItem, newName, openBoard, tried, until, work } from '../../inbox/engines.ts'

/** An inbox, and BullMQ's view of its queue, as a dashboard has it. */
function open(url: string) {
  const queue = newName()
  const inbox = bullmqInbox({ connection: url, queue })
  onTestFinished(() => inbox.close())
  const board = openBoard(url, queue)
  let n = 0
  const put = async (accountKey: string, count: number) => {
    const items = Array.from({ length: count }, () => makeItem(String(n++), accountKey))
    await Promise.all(items.map((item) => inbox.put(item)))
    return items
  }
  return { inbox, board, put }
}

describe.skipIf(redisProgram === undefined)('bullmqInbox', () => {
  const server = serverFor(() => startRedis('--appendfsync', 'always'))
  const openOne = () => open(server().url)

  it('runs new items before retried ones', async () => {
    const { inbox, put } = openOne()
    await put('acme', 30)
    const failing = work(inbox, (item) => ({ next: 'wait', afterMs: 1_000, isFailure: true, tried: tried(item) }))
    await until(async () => (await inbox.list('waiting')).entries.every(({ failures }) => failures > 0))
    await failing.close(10_000)
    await put('acme', 30)
    await sleep(1_500)
    const order: number[] = []
    work(inbox, ({ failures }) => {
      order.push(failures)
      return DONE
    })
    await until(() => order.length === 60)
    expect(order.slice(0, 20)).toEqual(Array(20).fill(0))
  })

  it('lets a dashboard see an event, and retry a dead letter with fresh tries', async () => {
    const { inbox, board, put } = openOne()
    const [item] = await put('acme', 1)
    expect(await board.getJobCounts()).toMatchObject({ prioritized: 1 })
    const burying = work(inbox, (taken) => bury(taken, ['one']))
    await until(async () => (await inbox.counts()).dead === 1)
    await burying.close(10_000)
    const [job] = await board.getFailed()
    expect(job).toMatchObject({ name: 'a.created', data: { text: '{}', accountKey: 'acme' } })
    expect(job?.failedReason).toBe('handler_failed: it failed')
    await job?.retry()
    expect(await inbox.get(item?.key ?? '')).toMatchObject({ state: 'waiting', failures: 0, marks: ['one'] })
    const seen: TakenItem[] = []
    work(inbox, (taken) => {
      seen.push(taken)
      return DONE
    })
    await until(() => seen.length === 1)
    expect(seen[0]).toMatchObject({ failures: 0, marks: ['one'], tries: [{ n: 1 }] })
    await until(async () => (await board.getJobCounts()).active === 0)
    expect(await board.getJobCounts()).toMatchObject({ completed: 0, failed: 0 })
  })
})

describe.skipIf(redisProgram === undefined)('bullmqInbox', () => {
  const server = serverFor(() => startRedis('--appendfsync', 'always'))

  it.each([
    ['an hour ahead', 3_600_000],
    ['an hour behind', -3_600_000],
  ])('tries again after the delay, planned or run by a worker whose clock is %s', async (_, byMs) => {
    const { inbox, board, put } = open(server().url)
    const now = Date.now
    const wrong = () => vi.spyOn(Date, 'now').mockImplementation(() => now() + byMs)
    onTestFinished(() => void vi.restoreAllMocks())
    await put('acme', 1)
    const at: number[] = []
    const settled: string[] = []
    const run = (item: TakenItem) => {
      at.push(performance.now())
      return { next: 'wait', afterMs: 1_500, isFailure: true, tried: tried(item) } as const
    }
    const tryOnce = async () => {
      const another = bullmqInbox({ connection: server().url, queue: board.name })
      const before = settled.length
      const loop = work(another, run, { onSettled: ({ key }) => settled.push(key) })
      await until(() => settled.length > before)
      await loop.close(10_000)
      await another.close()
    }
    await tryOnce() // plans by the right clock
    wrong()
    await tryOnce() // runs, and plans, by the wrong one
    vi.restoreAllMocks()
    await tryOnce()
    const [first = 0, second = 0, third = 0] = at
    expect(second - first).toBeGreaterThan(1_450)
    expect(third - second).toBeGreaterThan(1_450)
    expect((await inbox.list('waiting')).entries[0]?.dueAt).toBeLessThan(now() + 10_000)
  })

  it('counts an event as due though the clock of the process that accepted it is ahead', async () => {
    const { inbox, put } = open(server().url)
    const now = Date.now
    const ahead = vi.spyOn(Date, 'now').mockImplementation(() => now() + 60_000)
    await put('acme', 1)
    ahead.mockRestore()
    expect(await inbox.counts()).toMatchObject({ waiting: 1, oldestDueAt: expect.any(Number) })
  })

  it('makes an event wait again that outlasts the closing of its worker, and closes the connection', async () => {
    const { inbox, put } = open(server().url)
    const redis = new Redis(server().url)
    onTestFinished(() => redis.disconnect())
    const countClients = async () =>
      String(await redis.client('LIST'))
        .trim()
        .split('\n').length
    await put('acme', 1)
    const before = await countClients()
    const worker = work(inbox, () => new Promise(() => {}))
    await until(async () => (await inbox.counts()).running === 1)
    expect(await countClients()).toBeGreaterThan(before)
    expect(await worker.close(0)).toBe(1)
    expect(await inbox.counts()).toMatchObject({ waiting: 1, running: 0, oldestDueAt: expect.any(Number) })
    await until(async () => (await countClients()) <= before)
  })
})

describe.skipIf(redisProgram === undefined)('a job of bullmqInbox whose worker died', () => {
  const server = serverFor(() => startRedis('--appendfsync', 'always'))

  it('waits once its lock has ended, though no worker runs, and can be dropped then', async () => {
    const { inbox, board, put } = open(server().url)
    const [item] = await put('acme', 1)
    const key = item?.key ?? ''
    work(inbox, () => new Promise(() => {}), { leaseMs: 600_000 })
    await until(async () => (await inbox.counts()).running === 1)
    expect(await inbox.drop(key)).toBe(false)
    const [job] = await board.getActive()
    const redis = new Redis(server().url)
    await redis.del(`${board.toKey(job?.id ?? '')}:lock`)
    redis.disconnect()
    expect(await inbox.counts()).toMatchObject({ waiting: 1, running: 0, oldestDueAt: expect.any(Number) })
    expect(await inbox.get(key)).toMatchObject({ state: 'waiting' })
    expect((await inbox.list('waiting')).entries).toHaveLength(1)
    expect((await inbox.list('running')).entries).toHaveLength(0)
    expect(await inbox.drop(key)).toBe(true)
    expect(await inbox.counts()).toMatchObject({ waiting: 0, running: 0 })
  })

  it('goes on with its tries if the worker died while it made it a dead letter', async () => {
    const { inbox, board, put } = open(server().url)
    const [item] = await put('acme', 1)
    const [job] = await board.getPrioritized()
    const state = {
      since: 0,
      dueAt: 0,
      failures: 9,
      deaths: 0,
      losses: 0,
      marks: [],
      tries: [],
      stalls: 0,
      alone: 'no',
    }
    await job?.updateData({ ...job.data, state: { ...state, buried: { at: Date.now(), after: 0 } } })
    expect(await inbox.get(item?.key ?? '')).toMatchObject({ state: 'waiting', failures: 9 })
  })
})

describe.skipIf(redisProgram === undefined)('dead letters in bullmqInbox', () => {
  const server = serverFor(() => startRedis('--appendfsync', 'always'))

  it('are not old for a worker whose clock is a month ahead', async () => {
    const { inbox, board, put } = open(server().url)
    await put('acme', 1)
    const burying = work(inbox, (taken) => bury(taken))
    await until(async () => (await inbox.counts()).dead === 1)
    await burying.close(10_000)
    const now = Date.now
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 31 * 86_400_000)
    const other = bullmqInbox({ connection: server().url, queue: board.name })
    onTestFinished(() => other.close())
    await put('acme', 1)
    work(other, () => DONE)
    await until(async () => (await inbox.counts()).waiting === 0)
    expect(await inbox.counts()).toMatchObject({ dead: 1 })
  })
})

describe.skipIf(redisProgram === undefined)('bullmqInbox on a Redis that may lose data', () => {
  it.each([
    ['writes to disk a second later', ['--appendfsync', 'everysec'], /appendfsync/],
    ['keeps nothing on disk', ['--appendonly', 'no'], /appendonly is "no"/],
    ['deletes when it is full', ['--appendfsync', 'always', '--maxmemory-policy', 'allkeys-lru'], /noeviction/],
  ])('reports once that it %s', async (_, args, message) => {
    const server = await startRedis(...args)
    onTestFinished(() => server.remove())
    const { inbox, put } = open(server.url)
    const log: string[] = []
    inbox.reportTo?.({ ...silentLogger, warn: (_fields, line) => void log.push(line) })
    await put('acme', 1)
    work(inbox, () => DONE)
    await until(async () => (await inbox.counts()).waiting === 0)
    expect(log).toEqual([expect.stringMatching(message)])
  })
})

describe('the options of bullmqInbox', () => {
  it.each([
    ['no connection', {}],
    ['a URL of another scheme', { connection: 'http://localhost' }],
    ['a URL of Postgres', { connection: 'postgres://localhost' }],
    ['a client', { connection: new Redis({ lazyConnect: true }) }],
    ['a colon in the name', { connection: {}, queue: 'a:b' }],
  ])('are refused if they are %s', (_, options) => {
    expect(() => bullmqInbox(options as Parameters<typeof bullmqInbox>[0])).toThrowError(
      expect.objectContaining({ code: 'option_invalid' }),
    )
  })

  it('are refused if one is unknown', () => {
    const options = { connection: 'redis://localhost', telemetry: {} }
    expect(() => bullmqInbox(options)).toThrowError(expect.objectContaining({ code: 'option_unknown' }))
  })
})

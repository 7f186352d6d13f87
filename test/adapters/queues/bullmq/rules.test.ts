import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { bullmqInbox } from 'postern/bullmq'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { TakenItem } from '../../../../src/engine.ts'
import { redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { serverFor } from '../../../engines/server-for.ts'
import { bury, DONE, newName, openBoard, putMany, tried, until, work, workOff } from '../../inbox/engines.ts'

describe.skipIf(redisProgram === undefined)('bullmqInbox', () => {
  const server = serverFor(() => startRedis('--appendfsync', 'always'))

  /** An inbox, and BullMQ's view of its queue, as a dashboard has it. */
  function open(url = server().url) {
    const queue = newName()
    const openAnother = () => {
      const inbox = bullmqInbox({ connection: url, queue })
      onTestFinished(() => inbox.close())
      return inbox
    }
    return { inbox: openAnother(), openAnother, board: openBoard(url, queue) }
  }

  it('runs new items before retried ones', async () => {
    const { inbox } = open()
    await putMany(inbox, 'acme', 30)
    await workOff(inbox, 30, (item) => ({ next: 'wait', afterMs: 1_000, isFailure: true, tried: tried(item) }))
    await putMany(inbox, 'acme', 30)
    await sleep(1_500)
    const order: number[] = []
    work(inbox, ({ failures }) => {
      order.push(failures)
      return DONE
    })
    await until(() => order.length === 60)
    expect(order.slice(0, 20)).toEqual(Array(20).fill(0))
  })

  it('takes a prefix in braces, by which a cluster keeps the keys of a queue together', async () => {
    const inbox = bullmqInbox({ connection: server().url, queue: newName(), prefix: '{bull}' })
    onTestFinished(() => inbox.close())
    await putMany(inbox, 'acme', 1)
    expect(inbox.commandOptions?.slice(-2)).toEqual(['--prefix', '{bull}'])
    await workOff(inbox, 1, () => DONE)
    await until(async () => (await inbox.counts()).running === 0)
    expect(await inbox.findMissing()).toBeUndefined()
  })

  it('lets a dashboard see an event, and retry a dead letter with fresh tries', async () => {
    const { inbox, board } = open()
    const [item] = await putMany(inbox, 'acme', 1)
    expect(await board.getJobCounts()).toMatchObject({ prioritized: 1 })
    await workOff(inbox, 1, (taken) => bury(taken, ['one']))
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

  it.each([
    ['an hour ahead', 3_600_000],
    ['an hour behind', -3_600_000],
  ])('tries again after the delay, planned or run by a worker whose clock is %s', async (_, byMs) => {
    const { inbox, openAnother } = open()
    const now = Date.now
    const wrong = () => vi.spyOn(Date, 'now').mockImplementation(() => now() + byMs)
    onTestFinished(() => void vi.restoreAllMocks())
    await putMany(inbox, 'acme', 1)
    const at: number[] = []
    const tryOnce = () =>
      workOff(openAnother(), 1, (item) => {
        at.push(performance.now())
        return { next: 'wait', afterMs: 1_500, isFailure: true, tried: tried(item) }
      })
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
    const { inbox } = open()
    const now = Date.now
    const ahead = vi.spyOn(Date, 'now').mockImplementation(() => now() + 60_000)
    await putMany(inbox, 'acme', 1)
    ahead.mockRestore()
    expect(await inbox.counts()).toMatchObject({ waiting: 1, oldestDueAt: expect.any(Number) })
  })

  it('makes an event wait again that outlasts the closing of its worker, and closes the connection', async () => {
    const { inbox } = open()
    const redis = new Redis(server().url)
    onTestFinished(() => redis.disconnect())
    const countClients = async () =>
      String(await redis.client('LIST'))
        .trim()
        .split('\n').length
    await putMany(inbox, 'acme', 1)
    const before = await countClients()
    const worker = work(inbox, () => new Promise(() => {}))
    await until(async () => (await inbox.counts()).running === 1)
    expect(await countClients()).toBeGreaterThan(before)
    expect(await worker.close(0)).toBe(1)
    expect(await inbox.counts()).toMatchObject({ waiting: 1, running: 0, oldestDueAt: expect.any(Number) })
    await until(async () => (await countClients()) <= before)
  })

  it('has a job of a worker that died wait once its lock has ended, though no worker runs, and drops it then', async () => {
    const { inbox, board } = open()
    const [item] = await putMany(inbox, 'acme', 1)
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

  it('goes on with the tries of a job whose worker died while it made it a dead letter', async () => {
    const { inbox, board } = open()
    const [item] = await putMany(inbox, 'acme', 1)
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

  it('has no dead letters that are old for a worker whose clock is a month ahead', async () => {
    const { inbox, openAnother } = open()
    await putMany(inbox, 'acme', 1)
    await workOff(inbox, 1, (taken) => bury(taken))
    const now = Date.now
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 31 * 86_400_000)
    onTestFinished(() => void vi.restoreAllMocks())
    await putMany(inbox, 'acme', 1)
    await workOff(openAnother(), 1)
    expect(await inbox.counts()).toMatchObject({ dead: 1 })
  })

  it.each([
    ['writes to disk a second later', ['--appendfsync', 'everysec'], /appendfsync/],
    ['keeps nothing on disk', ['--appendonly', 'no'], /appendonly is "no"/],
    ['deletes when it is full', ['--appendfsync', 'always', '--maxmemory-policy', 'allkeys-lru'], /noeviction/],
  ])('reports once that a Redis that may lose data %s', async (_, args, message) => {
    const forgetful = await startRedis(...args)
    onTestFinished(() => forgetful.remove())
    const { inbox } = open(forgetful.url)
    const log: string[] = []
    inbox.reportTo?.({ ...silentLogger, warn: (_fields, line) => void log.push(line) })
    await putMany(inbox, 'acme', 1)
    await workOff(inbox, 1)
    expect(log).toEqual([expect.stringMatching(message)])
  })
})

describe('the options of bullmqInbox', () => {
  it.each([
    ['a URL of another scheme', { connection: 'http://localhost' }],
    ['a URL of Postgres', { connection: 'postgres://localhost' }],
    ['a client', { connection: new Redis({ lazyConnect: true }) }],
    ['a colon in the name', { connection: {}, queue: 'a:b' }],
  ])('are refused if they are %s', (_, options) => {
    expect(() => bullmqInbox(options as Parameters<typeof bullmqInbox>[0])).toThrowError(
      expect.objectContaining({ code: 'option_invalid' }),
    )
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { TakenItem } from 'postern'
import { type BullmqInbox, bullmqInbox } from 'postern/bullmq'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { serverFor } from '../../../engines/server-for.ts'
import { BACKENDS, bury, DONE, makeItem, newQueue, openBoard, openInbox, tried, until, work } from './backends.ts'

/** An inbox, and BullMQ's view of its queue, as a dashboard has it. */
function open(backend: string, url: string) {
  const queue = newQueue()
  const inbox = openInbox(url, queue)
  const board = openBoard(backend, url, queue)
  let n = 0
  const put = async (accountKey: string, count: number) => {
    const items = Array.from({ length: count }, () => makeItem(String(n++), accountKey))
    for (let from = 0; from < count; from += 50)
      await Promise.all(items.slice(from, from + 50).map((item) => inbox.put(item)))
    return items
  }
  return { queue, inbox, board, put }
}

/** Makes dead letters of the items that wait. */
async function buryAll(inbox: BullmqInbox, marks: readonly string[] = []): Promise<void> {
  const { waiting } = await inbox.counts()
  const burying = work(inbox, (item) => bury(item, marks))
  await until(async () => (await inbox.counts()).dead === waiting)
  await burying.close(10_000)
}

/** Works until an item of the account has run. Resolves with the number of items that ran before. */
async function countBefore(account: string, inbox: BullmqInbox): Promise<number> {
  const order: string[] = []
  work(inbox, ({ accountKey }) => {
    order.push(accountKey)
    return DONE
  })
  await until(() => order.includes(account))
  return order.indexOf(account)
}

describe.each(BACKENDS)('bullmqInbox on %s', (backend, start) => {
  const server = serverFor(start)
  const openOne = () => open(backend, server().url)

  it('runs the first item of an account soon, despite the backlog of another, and after its own burst', async () => {
    const { inbox, put } = openOne()
    await put('quick', 300)
    const order: string[] = []
    const first = work(inbox, ({ accountKey }) => {
      order.push(accountKey)
      return DONE
    })
    await until(() => order.length === 300)
    await first.close(10_000)
    await sleep(600)
    await put('flood', 2_000)
    await put('quick', 1)
    expect(await countBefore('quick', inbox)).toBeLessThan(50)
  })

  it('runs the first item of an account soon, even if the backlog of another came in bursts with pauses', async () => {
    const { inbox, put } = openOne()
    for (let burst = 0; burst < 6; burst++) {
      await put('flood', 50)
      await sleep(600)
    }
    await put('quick', 1)
    expect(await countBefore('quick', inbox)).toBeLessThan(50)
  })

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

  it('keeps text that Postgres does not accept elsewhere: NUL, half a character, and errors with them', async () => {
    const { inbox } = openOne()
    const odd = { ...makeItem('odd', 'a\0b\ud800'), id: 'x\0', type: 'a\0.created', bytes: Buffer.from([0, 255]) }
    await inbox.put(odd)
    expect(await inbox.get(odd.key)).toMatchObject({ ...odd, bytes: expect.anything() })
    work(inbox, (item) => ({ next: 'bury', marks: ['\0'], tried: tried(item, 'half \ud800 \0') }))
    await until(async () => (await inbox.counts()).dead === 1)
    expect((await inbox.list('dead')).entries).toMatchObject([
      { id: 'x\0', marks: ['\0'], tries: [{ error: 'half \ud800 \0' }] },
    ])
  })

  it('lets a dashboard see an event, and retry a dead letter with fresh tries', async () => {
    const { inbox, board, put } = openOne()
    const [item] = await put('acme', 1)
    expect(await board.getJobCounts()).toMatchObject({ prioritized: 1 })
    await buryAll(inbox, ['one'])
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

  it('drops expired dead letters, and reports it', async () => {
    const { queue, inbox, put } = openOne()
    const log: unknown[] = []
    inbox.reportTo?.({ ...silentLogger, warn: (...line) => void log.push(line) })
    await put('acme', 3)
    await buryAll(inbox)
    await makeOld(backend, server().url, queue, 2)
    const again = openInbox(server().url, queue) // its last search was some time ago
    again.reportTo?.({ ...silentLogger, warn: (...line) => void log.push(line) })
    work(again, () => DONE)
    await until(async () => (await inbox.counts()).dead === 1)
    await until(() => log.length > 0)
    expect(log).toEqual([[{ dropped: 2 }, 'bullmqInbox dropped dead letters older than 30 days.']])
  })

  it('lists dead letters page by page while those of the page before are replayed', async () => {
    const { inbox, put } = openOne()
    await put('acme', 60)
    await buryAll(inbox)
    const seen: string[] = []
    let after: string | undefined
    do {
      const page = await inbox.list('dead', { after, limit: 7 })
      for (const { key } of page.entries) {
        seen.push(key)
        expect(await inbox.replay(key)).toBe(true)
      }
      after = page.next
    } while (after !== undefined)
    expect(new Set(seen).size).toBe(60)
    expect(await inbox.counts()).toMatchObject({ waiting: 60, dead: 0 })
  })
})

/** Moves the first of them back by forty days. */
async function makeOld(backend: string, url: string, queue: string, count: number): Promise<void> {
  const at = Date.now() - 40 * 86_400_000
  if (backend === 'redis') {
    const redis = new Redis(url)
    const key = `bull:${queue}:failed`
    for (const id of await redis.zrange(key, '0', String(count - 1))) {
      await redis.zadd(key, String(at), id)
      await redis.hset(`bull:${queue}:${id}`, 'finishedOn', String(at))
    }
    redis.disconnect()
    return
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const which = 'SELECT id FROM bullmq.job WHERE queue = $2 ORDER BY seq LIMIT $3'
  await client.query(`UPDATE bullmq.job SET finished_at_ms = $1 WHERE queue = $2 AND id IN (${which})`, [
    at,
    queue,
    count,
  ])
  await client.end()
}

describe.skipIf(redisProgram === undefined)('bullmqInbox on a Redis that may lose data', () => {
  it.each([
    ['writes to disk a second later', ['--appendfsync', 'everysec'], /appendfsync/],
    ['keeps nothing on disk', ['--appendonly', 'no'], /appendonly is "no"/],
    ['deletes when it is full', ['--appendfsync', 'always', '--maxmemory-policy', 'allkeys-lru'], /noeviction/],
  ])('reports once that it %s', async (_, args, message) => {
    const server = await startRedis(...args)
    onTestFinished(() => server.remove())
    const { inbox, put } = open('redis', server.url)
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
    ['a backend that there is not', { connection: {}, backend: 'mysql' }],
    ['a URL of the other backend', { connection: 'redis://localhost', backend: 'postgres' }],
    ['a client', { connection: new Redis({ lazyConnect: true }) }],
    ['a colon in the name', { connection: {}, queue: 'a:b' }],
    ['a prefix on Postgres', { connection: 'postgres://localhost', prefix: 'x' }],
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

import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { Inbox } from 'postern'
import { silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { serverFor } from '../../engines/server-for.ts'
import { bury, DONE, ENGINES, makeItem, newName, openInbox, type ServedEngine, tried, until, work } from './engines.ts'

async function open(engine: ServedEngine, url: string) {
  const place = newName()
  const inbox = await openInbox(engine, url, place)
  let n = 0
  const put = async (accountKey: string, count: number) => {
    const items = Array.from({ length: count }, () => makeItem(String(n++), accountKey))
    for (let from = 0; from < count; from += 50)
      await Promise.all(items.slice(from, from + 50).map((item) => inbox.put(item)))
    return items
  }
  return { place, inbox, put }
}

/** Makes dead letters of the items that wait. */
async function buryAll(inbox: Inbox, marks: readonly string[] = []): Promise<void> {
  const { waiting } = await inbox.counts()
  const burying = work(inbox, (item) => bury(item, marks))
  await until(async () => (await inbox.counts()).dead === waiting)
  await burying.close(10_000)
}

/** Works until an item of the account has run. Resolves with the number of items that ran before. */
async function countBefore(account: string, inbox: Inbox): Promise<number> {
  const order: string[] = []
  work(inbox, ({ accountKey }) => {
    order.push(accountKey)
    return DONE
  })
  await until(() => order.includes(account))
  return order.indexOf(account)
}

describe.each(ENGINES)('an inbox on $name', (engine) => {
  const server = serverFor(engine.start)
  const openOne = () => open(engine, server().url)

  it('runs the first item of an account soon, despite the backlog of another, and after its own burst', async () => {
    const { inbox, put } = await openOne()
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
    const { inbox, put } = await openOne()
    for (let burst = 0; burst < 6; burst++) {
      await put('flood', 50)
      await sleep(600)
    }
    await put('quick', 1)
    expect(await countBefore('quick', inbox)).toBeLessThan(50)
  })

  it('keeps text that Postgres does not accept: NUL, half a character, and errors with them', async () => {
    const { inbox } = await openOne()
    const odd = { ...makeItem('odd', 'a\0b\ud800'), id: 'x\0', type: 'a\0.created', bytes: Buffer.from([0, 255]) }
    await inbox.put(odd)
    expect(await inbox.get(odd.key)).toMatchObject({ ...odd, bytes: expect.anything() })
    work(inbox, (item) => ({ next: 'bury', marks: ['\0'], tried: tried(item, 'half \ud800 \0') }))
    await until(async () => (await inbox.counts()).dead === 1)
    expect((await inbox.list('dead')).entries).toMatchObject([
      { id: 'x\0', marks: ['\0'], tries: [{ error: 'half \ud800 \0' }] },
    ])
  })

  it('drops expired dead letters, and reports it', async () => {
    const { place, inbox, put } = await openOne()
    const log: unknown[] = []
    inbox.reportTo?.({ ...silentLogger, warn: (...line) => void log.push(line) })
    await put('acme', 3)
    await buryAll(inbox)
    await makeOld(engine.name, server().url, place, 2)
    const again = await openInbox(engine, server().url, place) // its last search was some time ago
    again.reportTo?.({ ...silentLogger, warn: (...line) => void log.push(line) })
    work(again, () => DONE)
    await until(async () => (await inbox.counts()).dead === 1)
    await until(() => log.length > 0)
    expect(log).toEqual([[{ dropped: 2 }, expect.stringMatching(/Inbox dropped dead letters older than 30 days\.$/)]])
  })

  it('lists dead letters page by page while those of the page before are replayed', async () => {
    const { inbox, put } = await openOne()
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
async function makeOld(engine: string, url: string, place: string, count: number): Promise<void> {
  const at = Date.now() - 40 * 86_400_000
  if (engine === 'redis') {
    const redis = new Redis(url)
    const key = `bull:${place}:failed`
    for (const id of await redis.zrange(key, '0', String(count - 1))) {
      await redis.zadd(key, String(at), id)
      await redis.hset(`bull:${place}:${id}`, 'finishedOn', String(at))
    }
    redis.disconnect()
    return
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const which = `SELECT key FROM ${place} ORDER BY seq LIMIT $2`
  await client.query(`UPDATE ${place} SET position = $1 WHERE key IN (${which})`, [at * 1_000, count])
  await client.end()
}

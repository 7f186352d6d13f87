import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import { silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { serverFor } from '../../engines/server-for.ts'
import { bury, DONE, ENGINES, makeItem, newName, openInbox, putMany, tried, until, work, workOff } from './engines.ts'

describe.each(ENGINES)('an inbox on $name', (engine) => {
  const server = serverFor(engine.start)
  const openOne = (place?: string) => openInbox(engine, server().url, place)

  it('runs the first item of an account soon, after its own burst, despite a backlog of another in bursts with pauses', async () => {
    const inbox = await openOne()
    await putMany(inbox, 'quick', 300)
    await workOff(inbox, 300)
    for (let burst = 0; burst < 6; burst++) {
      await sleep(600)
      await putMany(inbox, 'flood', 50)
    }
    await putMany(inbox, 'quick', 1)
    expect((await workOff(inbox, 301)).indexOf('quick')).toBeLessThan(50)
  })

  it('keeps text that Postgres does not accept: NUL, half a character, and errors with them', async () => {
    const inbox = await openOne()
    const odd = { ...makeItem('odd', 'a\0b\ud800'), id: 'x\0', type: 'a\0.created', bytes: Buffer.from([0, 255]) }
    await inbox.put(odd)
    expect(await inbox.get(odd.key)).toMatchObject({ ...odd, bytes: expect.anything() })
    await workOff(inbox, 1, (item) => ({ next: 'bury', marks: ['\0'], tried: tried(item, 'half \ud800 \0') }))
    expect((await inbox.list('dead')).entries).toMatchObject([
      { id: 'x\0', marks: ['\0'], tries: [{ error: 'half \ud800 \0' }] },
    ])
  })

  it('drops expired dead letters, and reports it', async () => {
    const place = newName()
    const inbox = await openOne(place)
    const log: unknown[] = []
    inbox.reportTo?.({ ...silentLogger, warn: (...line) => void log.push(line) })
    await putMany(inbox, 'acme', 3)
    await workOff(inbox, 3, (item) => bury(item))
    await makeOld(engine.name, server().url, place, 2)
    const again = await openOne(place) // its last search was some time ago
    again.reportTo?.({ ...silentLogger, warn: (...line) => void log.push(line) })
    work(again, () => DONE)
    await until(async () => (await inbox.counts()).dead === 1)
    await until(() => log.length > 0)
    expect(log).toEqual([[{ dropped: 2 }, expect.stringMatching(/Inbox dropped dead letters older than 30 days\.$/)]])
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

import type { InboxItem } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { describe, expect, it } from 'vitest'
import { DONE, makeItem, until, work } from '../../inbox/engines.ts'
import { drivers } from './drivers.ts'
import { closing, makeFolder } from './folder.ts'

const fileOf = makeFolder()
const inLane = (id: string): InboxItem => ({ ...makeItem(id), lane: 'a' })

describe.each(drivers)('the lanes of sqliteInbox on %s', (driver) => {
  it('are added to a file of an earlier version, beside a process that knows none', async () => {
    const open = () => closing(openSqlite(fileOf(`${driver.replace(':', '')}.db`), { driver }))
    const older = open()
    await sqliteInbox({ database: older }).put(makeItem('old'))
    older.exec('DROP INDEX postern_inbox_lane; ALTER TABLE postern_inbox DROP COLUMN lane')
    older.exec('ALTER TABLE postern_inbox DROP COLUMN away')
    const start = older.prepare('UPDATE postern_inbox SET state = 0 WHERE key = ? RETURNING *')
    expect(start.all('kold')).toHaveLength(1)

    const inbox = sqliteInbox({ database: open() })
    const again = sqliteInbox({ database: open() })
    for (const id of ['1', '2', '3']) await inbox.put(inLane(id))
    expect(start.all('kold')).toMatchObject([{ key: 'kold', state: 0 }])
    expect(await again.counts()).toMatchObject({ waiting: 4, parked: 2 })
    older.exec(`DELETE FROM postern_inbox WHERE key = 'k1'`)
    expect(await again.counts()).toMatchObject({ waiting: 3, parked: 1 })
    older.exec(`UPDATE postern_inbox SET state = 4 WHERE key = 'k2'`)
    expect(await again.counts()).toMatchObject({ waiting: 2, parked: 0, dead: 1 })
    older.exec(`UPDATE postern_inbox SET state = 1 WHERE key = 'k2'`) // it revives a dead letter
    expect(await again.counts()).toMatchObject({ waiting: 3, parked: 1, dead: 0 })
    older.exec(`UPDATE postern_inbox SET state = 1, away = lane, lane = NULL WHERE key = 'k3'`)
    start.all('k3') // and runs an item that left its lane
    expect(await again.counts()).toMatchObject({ waiting: 3, parked: 1 })
  })

  it('go on without the item that the others wait for, as after a restore', async () => {
    const database = closing(openSqlite(fileOf(`${driver.replace(':', '')}-restored.db`), { driver }))
    const inbox = sqliteInbox({ database })
    for (const id of ['1', '2', '3']) await inbox.put(inLane(id))
    await inbox.put({ ...makeItem('4'), lane: 'b' })
    database.exec(`CREATE TABLE saved AS SELECT * FROM postern_inbox WHERE key IN ('k2', 'k3')`)
    database.exec(`DELETE FROM postern_inbox WHERE key IN ('k1', 'k2', 'k3')`)
    database.exec('INSERT INTO postern_inbox SELECT * FROM saved')
    database.exec(`INSERT INTO postern_inbox_bodies SELECT seq, '{}' FROM saved`)
    expect(await inbox.counts()).toMatchObject({ waiting: 3, parked: 2 })
    const ran: string[] = []
    work(inbox, ({ key, lane }) => {
      if (lane === 'a') ran.push(key)
      return DONE
    })
    await until(() => ran.length === 2)
    expect(ran).toEqual(['k2', 'k3'])
  })
})

import { readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { platform } from 'node:process'
import type { InboxView } from 'postern/emulator'
import { openSqlite } from 'postern/sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLateInbox } from '../../tools/cli/service/late-inbox.ts'
import { isLateToClose } from '../adapters/stores/sqlite/folder.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { startWatch } from '../support/watch.ts'
import { makeDeadLetters } from './make-dead-letters.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = makeTestFolder()
  file = join(folder, 'app.db')
})

/** Returns the target of a link; empty if it is gone. */
function readlink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

describe('an inbox that may come later', () => {
  const counts = (inbox: InboxView) => inbox.counts().then(({ dead }) => dead)

  it('is found once its file and table exist, and again when the file was replaced', async () => {
    await using inbox = createLateInbox({ sqlite: file })
    await expect(inbox.counts()).rejects.toThrow('does not exist, or is not a file')
    writeFileSync(file, '') // an app that has not made its table
    await expect(inbox.counts()).rejects.toThrow('has no inbox')
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    expect(await counts(inbox)).toBe(1)
    for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
    await makeDeadLetters(file, [{ id: 'evt_1' }, { id: 'evt_2' }])
    expect(await counts(inbox)).toBe(2)
    for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
    writeFileSync(file, 'no database')
    await expect(inbox.counts()).rejects.toThrow('cannot be read')
  })

  it.runIf(platform === 'linux')('keeps its connection while its file is the same', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    await using inbox = createLateInbox({ sqlite: file })
    await inbox.counts()
    const links = () => readdirSync('/proc/self/fd').map((fd) => readlink(`/proc/self/fd/${fd}`))
    const opened = links().filter((name) => name === file).length
    for (let count = 0; count < 3; count++) await inbox.counts()
    expect(links().filter((name) => name === file)).toHaveLength(opened)
  })

  it.skipIf(isLateToClose)('does not wait while another process has the file locked, and comes back', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const holder = openSqlite(file)
    holder.pragma('locking_mode = EXCLUSIVE')
    holder.exec('BEGIN EXCLUSIVE; CREATE TABLE t (a)')
    await using inbox = createLateInbox({ sqlite: file })
    const watch = startWatch()
    await expect(inbox.counts()).rejects.toThrow('another process has it locked')
    expect(watch()).toBeLessThan(4_500) // SQLite would wait for 5 s
    holder.exec('ROLLBACK')
    holder.close()
    expect(await counts(inbox)).toBe(1)
  })
})

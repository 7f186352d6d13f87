import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { bundle } from '../../support/bundle.ts'
import { machineTime } from './journal.ts'
import type { EngineName } from './messages.ts'
import type { RunningEngine } from './running-engine.ts'
import type { Outage } from './verdict.ts'

const HOLD_LOCK = fileURLToPath(new URL('hold-lock.ts', import.meta.url))
/** Short enough that every claim and every lease outlives them. */
const LOCKS_MS: readonly number[] = [1_000, 4_000, 8_000, 2_000, 6_000]
const LONG_LOCK_MS = 60_000
const FULL_MS = 20_000
const DISK = 'size=64m'

/** The user's own table. */
export const EFFECTS = 'CREATE TABLE effects (event_id TEXT NOT NULL)'

/**
 * A file. There is no server to disturb: other processes lock the file of an inbox repeatedly; with `-outage` for a minute, and then its disk
 * is full for a while.
 */
export async function startSqlite(name: EngineName): Promise<RunningEngine> {
  const isOutage = name.endsWith('-outage')
  const hasInbox = name.startsWith('inbox-')
  const folder = mkdtempSync(join(tmpdir(), 'postern-chaos-'))
  const hasDisk = isOutage && mountDisk(folder)
  const at = join(folder, 'events.db')
  const database = openSqlite(at)
  database.exec(EFFECTS)
  sqliteStore({ database })
  const outages: Outage[] = []
  let isLocked = false
  const lock = async (ms: number) => {
    const child = fork(await bundle(HOLD_LOCK), [at, String(ms)])
    const gone = once(child, 'close')
    await once(child, 'message')
    isLocked = true
    await once(child, 'message')
    isLocked = false
    await gone
  }
  const asOutage = (cause: () => Promise<void>) => async () => {
    const from = machineTime()
    await cause()
    outages.push({ from, to: machineTime() })
  }
  const long = [asOutage(() => lock(LONG_LOCK_MS)), ...(hasDisk ? [asOutage(() => fillDisk(folder))] : [])]
  const short = hasInbox ? LOCKS_MS.map((ms) => () => lock(ms)) : []
  const readEffects = async () =>
    database
      .prepare('SELECT event_id FROM effects')
      .all()
      .map((row) => String(row.event_id))
  return {
    address: { name, at },
    faults: isOutage ? long : short,
    outages,
    isLocked: () => isLocked,
    ...(hasInbox && { inbox: sqliteInbox({ database }) }),
    ...((isOutage || name.endsWith('-transaction')) && { readEffects }),
    async close() {
      const isSound = database.pragma('integrity_check')[0]?.integrity_check === 'ok'
      database.close()
      if (!isSound) throw new Error(`${at} is damaged`)
      if (hasDisk) execFileSync('umount', ['--lazy', folder]) // a driver may close its file later
      rmSync(folder, { recursive: true })
    },
  }
}

/** Returns whether the folder is a small disk now, which requires the right to mount one. */
function mountDisk(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', DISK, 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    console.error('No full disk is tried: this process may not mount one.')
    return false
  }
}

async function fillDisk(folder: string): Promise<void> {
  const path = join(folder, 'filling')
  const file = openSync(path, 'w')
  const endsAt = performance.now() + FULL_MS
  while (performance.now() < endsAt) {
    fill(file) // also fills space that is freed meanwhile
    await sleep(50)
  }
  closeSync(file)
  rmSync(path)
}

function fill(file: number): void {
  for (const size of [1_048_576, 4_096])
    try {
      for (;;) writeSync(file, Buffer.alloc(size))
    } catch {
      // no room for so much
    }
}

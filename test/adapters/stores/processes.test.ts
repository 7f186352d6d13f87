import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import pg from 'pg'
import { postgresStore } from 'postern/postgres'
import { openSqlite, sqliteStore } from 'postern/sqlite'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { postgresProgram, startPostgres } from '../../engines/postgres-server.ts'
import { redisProgram, startRedis } from '../../engines/redis-server.ts'
import { drivers } from './sqlite/drivers.ts'
import { makeFolder } from './sqlite/folder.ts'
import { killWorkers, startWorker } from './start-worker.ts'

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))
const COUNT = 200
const fileOf = makeFolder()

interface Note {
  readonly event: string
  readonly pid: number
}

/** An engine, and what the handlers of its workers have noted: in a transaction, and without. */
interface Scene {
  readonly address: string
  effects?(): Promise<readonly Note[]>
  runs(): Promise<readonly Note[]>
}

async function openRedis(): Promise<Scene> {
  const server = await startRedis()
  const admin = new Redis(server.url)
  onTestFinished(async () => {
    admin.disconnect()
    await server.remove()
  })
  const toNote = (text: string) => ({ event: text.split(' ')[0] ?? '', pid: Number(text.split(' ')[1]) })
  return { address: server.url, runs: async () => (await admin.lrange('runs', 0, -1)).map(toNote) }
}

async function openPostgres(): Promise<Scene> {
  const server = await startPostgres()
  const pool = new pg.Pool({ connectionString: server.url })
  onTestFinished(async () => {
    await pool.end()
    await server.remove()
  })
  await postgresStore({ pool }).migrate()
  await pool.query('CREATE TABLE effects (event text, pid integer); CREATE TABLE runs (event text, pid integer)')
  const read = (table: string) => async () => (await pool.query<Note>(`SELECT event, pid FROM ${table}`)).rows
  return { address: server.url, effects: read('effects'), runs: read('runs') }
}

async function openFile(driver: (typeof drivers)[number]): Promise<Scene> {
  const address = fileOf(`${driver.replace(':', '-')}.db`)
  const database = openSqlite(address, { driver })
  onTestFinished(() => {
    expect(database.pragma('integrity_check')).toMatchObject([{ integrity_check: 'ok' }])
    database.close()
  })
  database.exec('CREATE TABLE effects (event TEXT, pid INTEGER)')
  sqliteStore({ database })
  const effects = async () => database.prepare('SELECT event, pid FROM effects').all() as readonly unknown[] as Note[] // its columns
  return { address, effects, runs: effects }
}

const ENGINES: readonly (readonly [engines: readonly string[], open: () => Promise<Scene>])[] = [
  ...(redisProgram === undefined ? [] : [[['node-redis', 'ioredis'], openRedis] as const]),
  ...(postgresProgram === undefined ? [] : [[['postgres'], openPostgres] as const]),
  ...drivers.map((driver) => [[driver], () => openFile(driver)] as const),
]
const IDS = Array.from({ length: COUNT }, (_, index) => `evt_${index}`).sort()

describe('several processes on one engine', () => {
  afterEach(killWorkers)

  it.each(ENGINES)(
    'handle each event, in a transaction exactly once, even if some are killed at any moment: %s',
    async (engines, open) => {
      const { address, effects, runs } = await open()
      let started = 0
      const start = () => startWorker(WORKER, engines[started++ % engines.length] ?? '', address, String(COUNT))
      const workers = await Promise.all([start(), start(), start(), start()])
      for (const { go } of workers) go()
      const killed: unknown[] = []
      for (const [index, victim] of workers.slice(0, 2).entries()) {
        while (victim.acknowledged.length < 15 * (index + 1)) await sleep(1)
        await sleep(Math.random() * 10)
        victim.child.kill('SIGKILL')
        killed.push(victim.child.pid)
        expect(await victim.closed).toMatchObject({ signal: 'SIGKILL' })
      }
      const late = await start()
      late.go()
      for (const { closed } of [...workers.slice(2), late])
        expect(await closed).toMatchObject({ code: 0, signal: null })

      if (effects !== undefined) expect((await effects()).map(({ event }) => event).sort()).toEqual(IDS)
      const pids = new Map(IDS.map((id): [string, number[]] => [id, []]))
      for (const { event, pid } of await runs()) pids.get(event)?.push(pid)
      for (const [event, by] of pids)
        expect([event, by.length > 0, by.length === 1 || by.some((pid) => killed.includes(pid))]).toEqual([
          event,
          true,
          true,
        ])
    },
    300_000,
  )
})

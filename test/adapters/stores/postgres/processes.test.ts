import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { killWorkers, startWorker } from '../start-worker.ts'
import { Scene } from './scene.ts'

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))
const COUNT = 200
const SLOW = 120_000

describe.skipIf(postgresProgram === undefined)('processes on one Postgres', () => {
  const scene = new Scene()
  afterAll(killWorkers)

  it(
    'handle each event, and write in a transaction exactly once, even if some are killed at any moment',
    async () => {
      const pool = scene.pool()
      await pool.query('CREATE TABLE effects (event text, pid integer)')
      await pool.query('CREATE TABLE runs (event text, pid integer)')
      const start = () => startWorker(WORKER, scene.server.url, String(COUNT))
      const workers = await Promise.all([start(), start(), start()])
      for (const { go } of workers) go()
      const killed: (number | undefined)[] = []
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
        expect(await closed).toEqual({ code: 0, signal: null, stderr: '' })

      const ids = Array.from({ length: COUNT }, (_, index) => `evt_${index}`).sort()
      const effects = await pool.query('SELECT event FROM effects ORDER BY event COLLATE "C"')
      expect(effects.rows.map(({ event }) => event)).toEqual(ids)
      const runs = await pool.query('SELECT event, array_agg(pid ORDER BY pid) AS pids FROM runs GROUP BY event')
      expect(runs.rows.map(({ event }) => event).sort()).toEqual(ids)
      for (const { event, pids } of runs.rows)
        if (pids.length > 1) expect([event, pids.some((pid: number) => killed.includes(pid))]).toEqual([event, true])
    },
    SLOW,
  )
})

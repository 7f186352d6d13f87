import { readFileSync } from 'node:fs'
import pg from 'pg'
import { createClient } from 'redis'
import { postgresProgram, startPostgres } from '../../test/engines/postgres-server.ts'
import { redisProgram, startRedis } from '../../test/engines/redis-server.ts'
import { Contestant, median, print } from '../harness.ts'

const PROCESSES = [1, 2, 4]
const BESIDE = 64

interface Engine {
  readonly name: 'redis' | 'postgres'
  readonly url: string
  /** Returns the ids of all its processes. */
  pids(): readonly number[]
  /** Returns the size of all its data in bytes. */
  size(): Promise<number>
  close(): Promise<void>
}

interface Figures {
  readonly rate: number
  readonly cpu: number
}

/** Measures the throughput of one process, and of several, on an engine with default settings, and the engine's cost of an event. */
export async function benchEngines(isQuick: boolean): Promise<void> {
  const rows: (readonly string[])[] = [
    [
      'engine',
      'processes',
      'events/s',
      'engine, µs CPU an event',
      'process, µs CPU an event',
      'bytes a remembered event',
    ],
  ]
  if (redisProgram !== undefined) rows.push(...(await benchEngine(await openRedis(), isQuick)))
  if (postgresProgram !== undefined) rows.push(...(await benchEngine(await openPostgres(), isQuick)))
  print(`Events that are claimed and completed, ${BESIDE} at once in each process, all on this machine (medians)`, rows)
}

async function benchEngine(engine: Engine, isQuick: boolean): Promise<readonly (readonly string[])[]> {
  const rows: string[][] = []
  const events = isQuick ? 5_000 : 20_000
  try {
    for (const count of PROCESSES) {
      const workers = Array.from(
        { length: count },
        (_, index) => new Contestant(`${engine.name} ${index}`, 'scale/worker.mjs', [engine.name, engine.url]),
      )
      const rounds: { rate: number; engineCpu: number; cpu: number; bytes: number }[] = []
      for (let round = -1; round < (isQuick ? 1 : 5); round++) {
        const [before, sizeBefore] = [cpuOf(engine.pids()), await engine.size()]
        const figures = await Promise.all(
          workers.map((worker) => worker.ask<Figures>({ events: events / count, beside: BESIDE })),
        )
        const [engineCpu, size] = [cpuOf(engine.pids()) - before, await engine.size()]
        if (round < 0) continue
        rounds.push({
          rate: figures.reduce((sum, { rate }) => sum + rate, 0),
          engineCpu: engineCpu / events,
          cpu: figures.reduce((sum, { cpu }) => sum + cpu, 0) / count,
          bytes: (size - sizeBefore) / events,
        })
      }
      for (const worker of workers) worker.stop()
      const of = (pick: (round: (typeof rounds)[number]) => number, digits = 0) =>
        median(rounds.map(pick)).toLocaleString('en', { maximumFractionDigits: digits })
      rows.push([
        engine.name,
        String(count),
        of(({ rate }) => rate),
        of(({ engineCpu }) => engineCpu),
        of(({ cpu }) => cpu),
        of(({ bytes }) => bytes),
      ])
    }
    return rows
  } finally {
    await engine.close()
  }
}

async function openRedis(): Promise<Engine> {
  const server = await startRedis('--appendfsync', 'everysec')
  const client = await createClient({ url: server.url }).connect()
  return {
    name: 'redis',
    url: server.url,
    pids: () => server.pids(),
    size: async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]),
    async close() {
      client.destroy()
      await server.remove()
    },
  }
}

async function openPostgres(): Promise<Engine> {
  const server = await startPostgres()
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const size = async () => {
    const { rows } = await client.query(
      `SELECT coalesce(pg_total_relation_size(to_regclass('postern_claims')), 0) AS size`,
    )
    return Number(rows[0]?.size)
  }
  return {
    name: 'postgres',
    url: server.url,
    pids: () => server.pids(),
    size,
    async close() {
      await client.end()
      await server.remove()
    },
  }
}

/** Returns the CPU time in microseconds that processes have used so far. Linux only; a tick is a hundredth of a second. */
function cpuOf(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, each) => sum + each, 0) * 10_000
}

import { createPostgresBackend, Queue } from 'bullmq'
import { migrateBullmq } from 'postern/bullmq'
import { onTestFinished } from 'vitest'
import { type PostgresServer, postgresProgram, startPostgres } from '../../../engines/postgres-server.ts'
import { type RedisServer, redisProgram, startRedis } from '../../../engines/redis-server.ts'

type Server = Pick<RedisServer | PostgresServer, 'port' | 'url' | 'freeze' | 'thaw' | 'remove' | 'start'> & {
  kill(signal: 'SIGKILL'): Promise<void>
}

/** BullMQ's engines whose programs are installed here, with the settings that the inbox asks for. */
export const BACKENDS: readonly (readonly ['redis' | 'postgres', () => Promise<Server>])[] = [
  ...(redisProgram === undefined ? [] : [['redis', () => startRedis('--appendfsync', 'always')] as const]),
  ...(postgresProgram === undefined ? [] : [['postgres', () => startPostgresWithTables()] as const]),
]

async function startPostgresWithTables(): Promise<PostgresServer> {
  const server = await startPostgres('fsync=on')
  await migrateBullmq(server.url)
  return server
}

/** Opens BullMQ's view of a queue, as a dashboard does, until the end of the test. */
export function openBoard(backend: string, url: string, queue: string) {
  const board =
    backend === 'redis'
      ? new Queue(queue, { connection: { url } })
      : new Queue(queue, { connection: { connectionString: url } }, createPostgresBackend)
  board.on('error', () => {})
  onTestFinished(() => board.close())
  return board
}

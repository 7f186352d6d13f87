import type { RedisQueueBackend } from 'bullmq'
import { consoleLogger, findNearest } from '../../../src/engine.ts'
import { ask, call } from './durability.ts'
import type { Checked } from './options.ts'

/** Keys that are looked at to name the queues of a Redis. */
const MOST_KEYS = 20_000
const PAGE = 1_000
const MOST_NAMED = 10

/** Returns a sentence if a queue was never used, by a worker or an accepted event, and its Redis holds anything else. */
export async function describeMissing(
  backend: RedisQueueBackend,
  { queue, prefix }: Pick<Checked, 'queue' | 'prefix'>,
): Promise<string | undefined> {
  if ((await call(backend, 'EXISTS', backend.toKey('meta'), backend.toKey('id'))) !== 0) return undefined
  const found = await findQueues(backend, prefix)
  const nearest = findNearest(queue, found) ?? found.find((name) => name.startsWith(`${queue} `))
  const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  const databases = found.length > 0 ? [] : await listDatabases(backend)
  if (found.length + databases.length === 0) return undefined
  const others =
    found.length > 0
      ? `Queues there: ${found.slice(0, MOST_NAMED).join(', ')}`
      : `This database has none; databases with keys: ${databases.slice(0, MOST_NAMED).join(', ')}`
  return `This Redis has no queue "${queue}" with the prefix "${prefix}".${meant} ${others}. The app makes its queue when its worker starts, or with the first event.`
}

/** Finds the names of queues, with their prefix if it is another one. */
async function findQueues(backend: RedisQueueBackend, ownPrefix: string): Promise<readonly string[]> {
  const names = new Set<string>()
  let cursor = '0'
  for (let read = 0; read < MOST_KEYS; read += PAGE) {
    const answer = await call(backend, 'SCAN', cursor, 'MATCH', '*:meta', 'COUNT', String(PAGE))
    const [next, keys] = answer as readonly [unknown, readonly unknown[]] // of SCAN
    for (const key of keys) {
      const [, prefix, name] = /^(.+):([^:]+):meta$/.exec(String(key)) ?? []
      if (name !== undefined) names.add(prefix === ownPrefix ? name : `${name} (prefix ${prefix})`)
    }
    cursor = String(next)
    if (cursor === '0') break
  }
  return [...names].sort()
}

/** Lists the numbers of the databases that hold anything. */
async function listDatabases(backend: RedisQueueBackend): Promise<readonly string[]> {
  const answer = String(await ask(backend, 'INFO', 'keyspace'))
  return [...answer.matchAll(/^db(\d+):keys=/gm)].map(([, number = '']) => number)
}

/** Creates a warning of a queue that was never used, for an inbox that only looks. A receiver makes its queue itself. */
export function createMissingWarning(checked: Checked) {
  let isOver = false
  return {
    end(): void {
      isOver = true
    },
    async look(backend: RedisQueueBackend): Promise<RedisQueueBackend> {
      if (isOver) return backend
      isOver = true
      const missing = await describeMissing(backend, checked).catch(() => undefined) // managed servers forbid many commands
      if (missing !== undefined) consoleLogger.warn({}, `bullmqInbox: ${missing}`)
      return backend
    },
  }
}

import type { RedisQueueBackend } from 'bullmq'

const REDIS = {
  appendonly:
    'Redis keeps nothing on disk (appendonly is "no"): accepted events are lost if it stops. Set appendonly to "yes", and appendfsync to "always".',
  appendfsync:
    'Redis writes to disk after it has answered (appendfsync is not "always"): accepted events survive a killed process, but a power cut loses those of the last second.',
  policy:
    'Redis may delete accepted events when its memory is full (maxmemory-policy is not "noeviction"). Set it to "noeviction": deliveries are then answered 503, and the service retries.',
}

/** Finds the settings by which accepted events may get lost, as far as the server discloses them. */
export async function findGaps(backend: RedisQueueBackend): Promise<readonly string[]> {
  const read = async (name: string) => {
    const answer = await ask(backend, 'CONFIG', 'GET', name)
    return Array.isArray(answer) ? String(answer[1]) : undefined
  }
  const [aof, fsync, policy] = await Promise.all(['appendonly', 'appendfsync', 'maxmemory-policy'].map(read))
  return [
    ...(aof === 'no' ? [REDIS.appendonly] : fsync !== undefined && fsync !== 'always' ? [REDIS.appendfsync] : []),
    ...(policy !== undefined && policy !== 'noeviction' ? [REDIS.policy] : []),
  ]
}

/** Queries Redis. Resolves with undefined if there is no answer: managed servers forbid many commands. */
export function ask(backend: RedisQueueBackend, ...words: readonly string[]): Promise<unknown> {
  return call(backend, ...words).catch(() => undefined)
}

export async function call(backend: RedisQueueBackend, ...words: readonly string[]): Promise<unknown> {
  const client: { call?(...words: readonly string[]): Promise<unknown> } = Object(await backend.client)
  return client.call?.(...words)
}

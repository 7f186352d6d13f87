import type { EventEmitter } from 'node:events'
import { ConfigurationError } from '../../../src/engine.ts'
import type { Script } from './scripts.ts'

/** A client of the package `redis` (node-redis), 4.6 or later: `createClient`, `createClientPool` or `createCluster`. */
export interface NodeRedisClient {
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  /** False before `connect()` and after `close()`. */
  readonly isOpen?: boolean | undefined
}

/** A client of the package `ioredis`, 5 or later: `new Redis()` or `new Cluster()`. */
export interface IoRedisClient {
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  /** `end` once it was closed for good. */
  readonly status?: string | undefined
}

/** Any object that sends a command, passed as its words, and resolves with the reply or rejects with the server's error. */
export interface BareRedisClient {
  sendCommand(command: string[]): Promise<unknown>
}

/** A client that `redisStore` accepts. */
export type RedisClient = NodeRedisClient | IoRedisClient | BareRedisClient

/** Runs a script on keys. Rejects if the server cannot be reached, or refuses. */
export type RunScript = (script: Script, keys: string[], given: string[]) => Promise<unknown>

/** Recognizes a client by its methods, so that neither package is imported. */
export function makeRunner(client: unknown): RunScript {
  const { byDigest, byText } = toCalls(client)
  return (script, keys, given) =>
    byDigest(script.sha, keys, given).then(undefined, (error: unknown) => {
      // After a restart, a failover or SCRIPT FLUSH the script did not run. Sent whole, it stays on the server.
      if (String(Object(error).message).includes('NOSCRIPT')) return byText(script.text, keys, given)
      throw error
    })
}

type Call = (script: string, keys: string[], given: string[]) => Promise<unknown>

function toCalls(given: unknown): { readonly byDigest: Call; readonly byText: Call } {
  const client = Object(given) // each kind has its own methods
  if (typeof client.then === 'function') throw unusable('client is a promise; await it first.')
  if (typeof client.evalsha === 'function') {
    if (typeof client.status !== 'string')
      throw unusable(
        'client has evalsha() but is no client of ioredis; give new Redis() of "ioredis", or { sendCommand } for a client over REST.',
      )
    if (client.status === 'end') throw unusable('the client of ioredis has been closed; give an open one.')
    return {
      byDigest: (sha, keys, given) => client.evalsha(sha, keys.length, ...keys, ...given),
      byText: (text, keys, given) => client.eval(text, keys.length, ...keys, ...given),
    }
  }
  const isOfNodeRedis = typeof client.evalSha === 'function'
  if (isOfNodeRedis && (typeof client.exec === 'function' || !('isOpen' in client)))
    throw unusable('client is a transaction or a legacy client of node-redis; give what createClient() returned.')
  if (isOfNodeRedis && client.isOpen === false)
    throw unusable('the client of node-redis is not connected; call "await client.connect()" first.')
  if (isOfNodeRedis) listenForErrors(client)
  // The evalSha() of a cluster of node-redis 4 sends each script to any node, which refuses it.
  const isOldCluster = isOfNodeRedis && 'masters' in client && !('destroy' in client)
  if (isOfNodeRedis && !isOldCluster)
    return {
      byDigest: (sha, keys, given) => client.evalSha(sha, { keys, arguments: given }),
      byText: (text, keys, given) => client.eval(text, { keys, arguments: given }),
    }
  if (typeof client.sendCommand !== 'function')
    throw unusable(
      'client is not a Redis client; give the result of createClient() of "redis" or new Redis() of "ioredis", or { sendCommand }.',
    )
  // A custom client may throw synchronously.
  const send = async (...words: string[]) =>
    isOldCluster ? client.sendCommand(words[3], false, words) : client.sendCommand(words)
  return {
    byDigest: (sha, keys, given) => send('EVALSHA', sha, String(keys.length), ...keys, ...given),
    byText: (text, keys, given) => send('EVAL', text, String(keys.length), ...keys, ...given),
  }
}

/** Without a listener a lost connection ends the process. Calls fail by themselves then, and the receiver reports them. */
function listenForErrors(client: NodeRedisClient): void {
  const { on, listenerCount } = client as Partial<EventEmitter> // this checks whether it is one
  if (on !== undefined && listenerCount?.call(client, 'error') === 0) on.call(client, 'error', () => {})
}

function unusable(message: string): ConfigurationError {
  return new ConfigurationError('option_invalid', `redisStore: ${message}`)
}

/** Reads a number, which clients can be configured to return as text, bytes or bigint. Otherwise undefined. */
export function toNumber(reply: unknown): number | undefined {
  const number = typeof reply === 'number' ? reply : Number(toText(reply))
  return Number.isNaN(number) ? undefined : number
}

/** Reads text of a reply, including from clients that are configured to return bytes. */
export function toText(reply: unknown): string {
  return ArrayBuffer.isView(reply) ? Buffer.from(reply as Uint8Array).toString() : String(reply) // no client returns another view
}

/** Returns whether an error is an answer of the server, which begins with a word in capitals: `READONLY You can't write …`. */
export function isFromServer(error: unknown): boolean {
  return /^[A-Z][A-Z0-9]+ /.test(String(Object(error).message))
}

/** Returns whether the server refuses writes because it is a replica. Before Redis 7 the word is further back in a script's error. */
export function isOfReplica(error: unknown): boolean {
  return /(^|-)READONLY /.test(String(Object(error).message))
}

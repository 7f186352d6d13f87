import type { EventEmitter } from 'node:events'
import { ConfigurationError } from '../../../src/index.ts'
import type { Script } from './scripts.ts'

/** A client of the package `redis` (node-redis), 4.6 or later: `createClient`, `createClientPool` or `createCluster`. */
export interface NodeRedisClient {
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  /** False before `connect()` and after `close()`. */
  readonly isOpen?: boolean
}

/** A client of the package `ioredis`, 5 or later: `new Redis()` or `new Cluster()`. */
export interface IoRedisClient {
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  /** `end` once it was closed for good. */
  readonly status?: string
}

/** Any object that sends a command, passed as its words, and resolves with the reply or rejects with the server's error. */
export interface BareRedisClient {
  sendCommand(command: string[]): Promise<unknown>
}

export type RedisClient = NodeRedisClient | IoRedisClient | BareRedisClient

/** Runs a script on one key. Rejects if the server cannot be reached, or refuses. */
export type RunScript = (script: Script, key: string, given: string[]) => Promise<unknown>

/** A cluster of node-redis 4, whose own evalSha() sends each script to any node, which refuses it. */
interface OldNodeRedisCluster {
  sendCommand(firstKey: string, isReadonly: boolean, command: string[]): Promise<unknown>
}

/**
 * Returns the function by which the given client runs scripts: the client is recognized by its methods, so that neither package is
 * imported.
 */
export function makeRunner(client: unknown): RunScript {
  const { byDigest, byText } = toCalls(client)
  return (script, key, given) =>
    byDigest(script.sha, key, given).then(undefined, (error: unknown) => {
      // After a restart, a failover or SCRIPT FLUSH the script did not run. Sent whole, it stays on the server.
      if (String(Object(error).message).includes('NOSCRIPT')) return byText(script.text, key, given)
      throw error
    })
}

type Call = (script: string, key: string, given: string[]) => Promise<unknown>

function toCalls(given: unknown): { readonly byDigest: Call; readonly byText: Call } {
  const client = Object(given)
  if (typeof client.then === 'function') throw unusable('client is a promise; await it first.')
  if (isIoRedis(client)) {
    if (client.status === 'end') throw unusable('the client of ioredis has been closed; give an open one.')
    return {
      byDigest: (sha, key, given) => client.evalsha(sha, 1, key, ...given),
      byText: (text, key, given) => client.eval(text, 1, key, ...given),
    }
  }
  if (isNodeRedis(client)) {
    if (client.isOpen === false)
      throw unusable('the client of node-redis is not connected; call "await client.connect()" first.')
    listenForErrors(client)
    if (isOldCluster(client))
      return {
        byDigest: (sha, key, given) => client.sendCommand(key, false, ['EVALSHA', sha, '1', key, ...given]),
        byText: (text, key, given) => client.sendCommand(key, false, ['EVAL', text, '1', key, ...given]),
      }
    return {
      byDigest: (sha, key, given) => client.evalSha(sha, { keys: [key], arguments: given }),
      byText: (text, key, given) => client.eval(text, { keys: [key], arguments: given }),
    }
  }
  if (isBare(client))
    return {
      // A custom client may throw synchronously.
      byDigest: async (sha, key, given) => client.sendCommand(['EVALSHA', sha, '1', key, ...given]),
      byText: async (text, key, given) => client.sendCommand(['EVAL', text, '1', key, ...given]),
    }
  throw unusable(
    'client is not a Redis client; give the result of createClient() of "redis" or new Redis() of "ioredis", or { sendCommand }.',
  )
}

/** Without a listener a lost connection ends the process. Calls fail by themselves then, and the receiver reports them. */
function listenForErrors(client: NodeRedisClient): void {
  const { on, listenerCount } = client as Partial<EventEmitter> // this checks whether it is one
  if (on !== undefined && listenerCount?.call(client, 'error') === 0) on.call(client, 'error', () => {})
}

function isIoRedis(client: object): client is IoRedisClient {
  return 'evalsha' in client && typeof client.evalsha === 'function' && 'eval' in client
}

function isNodeRedis(client: object): client is NodeRedisClient {
  return 'evalSha' in client && typeof client.evalSha === 'function' && 'eval' in client
}

function isOldCluster(client: object): client is OldNodeRedisCluster {
  return 'masters' in client && !('destroy' in client)
}

function isBare(client: object): client is BareRedisClient {
  return 'sendCommand' in client && typeof client.sendCommand === 'function'
}

function unusable(message: string): ConfigurationError {
  return new ConfigurationError('option_invalid', `redisStore: ${message}`)
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '../support/programs.ts'
import { findEngine } from './require.ts'

/** The path of Debian's redis-server, if it is installed. */
export const redisProgram: string | undefined = findEngine('redis-server')

/** A server for the tests: on loopback, in a temporary folder, and removed with them. */
export interface RedisServer {
  readonly port: number
  readonly url: string
  /** Restarts it in the same place, with its data; resolves when it answers. Further arguments are appended. */
  start(...more: readonly string[]): Promise<void>
  /** Ends it immediately, as a crash does (`SIGKILL`), or regularly (`SIGTERM`). */
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
  /** Freezes it: connections stay, answers do not come. */
  freeze(): void
  thaw(): void
  /** Makes it a replica of another, which refuses writes; its connections stay. */
  demote(masterPort: number): Promise<void>
  /** Ends it and removes its folder. */
  remove(): Promise<void>
}

/** Every write is in the file before it is answered, so that a kill loses nothing. Only a power cut would. */
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'no', '--save', '', '--maxmemory-policy', 'noeviction']

/** Starts a server and waits until it answers. */
export async function startRedis(...args: readonly string[]): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-redis-'))
  const port = await findFreePort()
  let child: ChildProcess | undefined
  const start = async (...more: readonly string[]) => {
    const fixed = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--daemonize', 'no']
    child = spawn(redisProgram ?? 'redis-server', [...fixed, ...DURABLE, ...args, ...more], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-2_000)
      })
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`redis-server ended: ${output}`)
      await sleep(10)
    }
  }
  const kill = async (signal: 'SIGKILL' | 'SIGTERM') => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'close')
    child.kill('SIGCONT')
    child.kill(signal)
    await ended
  }
  await start()
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    start,
    kill,
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),
    async demote(masterPort) {
      if (!(await isAnswered(port, `REPLICAOF 127.0.0.1 ${masterPort}`, '+OK'))) throw new Error('Redis refused')
    },
    async remove() {
      await kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns whether it has read its files and accepts commands. */
function answers(port: number): Promise<boolean> {
  return isAnswered(port, 'PING', '+PONG')
}

async function isAnswered(port: number, command: string, answer: string): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    return await new Promise((resolve) => {
      socket.on('error', () => resolve(false))
      socket.on('close', () => resolve(false))
      socket.on('data', (data) => resolve(data.toString().startsWith(answer)))
      socket.write(`${command}\r\n`)
    })
  } finally {
    socket.destroy()
  }
}

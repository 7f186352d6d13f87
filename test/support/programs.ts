import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT } from './repository.ts'

/** A started program. */
export interface Program {
  readonly child: ChildProcess
  /** Both streams so far. */
  output: string
  /** Its exit code once it has ended and both streams are read; null if a signal ended it. */
  readonly exitCode: Promise<number | null>
}

/** Starts a program of this repository, by its path from the root, in a separate process. */
export function start(path: string, env: Readonly<Record<string, string>>, ...args: readonly string[]): Program {
  const options = { cwd: ROOT, env: { ...process.env, ...env } }
  const child = spawn(process.execPath, [path, ...args], options)
  const exitCode = once(child, 'close').then(([code]: (number | null)[]) => code ?? null)
  const program: Program = { child, output: '', exitCode }
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      program.output += text
    })
  return program
}

/** Each worker has ports of its own, below those that the system hands out: nothing else takes one before its test listens. */
let lastPort = 11_000 + 1_000 * (Number(process.env.VITEST_POOL_ID ?? 0) % 20) + randomInt(500)

/** Returns a port of loopback on which nothing listens. */
export async function findFreePort(): Promise<number> {
  const port = ++lastPort
  const server = createServer().listen(port, '127.0.0.1')
  const [error] = await once(server, 'listening').catch((cause) => [cause])
  if (error !== undefined) return findFreePort()
  await once(server.close(), 'close')
  return port
}

/** Waits until the program answers HTTP there. Rejects if it ended instead. */
export async function untilItListens(port: number, program: Program): Promise<void> {
  for (;;) {
    if (program.child.exitCode !== null) throw new Error(`the server ended: ${program.output}`)
    if (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)) return
    await sleep(50)
  }
}

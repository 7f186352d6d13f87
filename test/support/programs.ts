import { type ChildProcess, spawn } from 'node:child_process'
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

/** Returns a port of loopback on which nothing listens. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  return address.port
}

/** Waits until the program answers HTTP there. Rejects if it ended instead. */
export async function untilItListens(port: number, program: Program): Promise<void> {
  for (;;) {
    if (program.child.exitCode !== null) throw new Error(`the server ended: ${program.output}`)
    const isUp = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
    if (isUp) return
    await sleep(50)
  }
}

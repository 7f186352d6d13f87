import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { bundle } from '../../support/bundle.ts'

const running = new Set<ChildProcess>()

/** Starts a process of `program` with its arguments, and waits until it is ready. */
export async function startWorker(program: string, ...args: readonly string[]): Promise<ChildProcess> {
  const child = fork(await bundle(program), args, {
    execArgv: ['--unhandled-rejections=strict', '--no-warnings'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  running.add(child)
  const stderr = child.stderr === null ? '' : text(child.stderr)
  const closed = once(child, 'close').then(() => running.delete(child))
  const isReady = await Promise.race([once(child, 'message').then(() => true), closed.then(() => false)])
  if (!isReady) throw new Error(`a worker did not start: ${await stderr}`)
  return child
}

/** Ends the processes that a failed test has left. */
export function killWorkers(): void {
  for (const child of running) child.kill('SIGKILL')
}

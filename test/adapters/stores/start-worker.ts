import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { bundle } from '../../support/bundle.ts'

/** A process that has a receiver on an engine, and sends it events once its parent asks for it; see `sendWhenTold`. */
export interface Worker {
  readonly child: ChildProcess
  /** Ids of the events that were acknowledged so far. */
  readonly acknowledged: readonly string[]
  readonly closed: Promise<{ readonly code: number | null; readonly signal: string | null; readonly stderr: string }>
  go(): void
}

const running = new Set<ChildProcess>()

/** Starts `program` with its arguments, and waits until it is ready. */
export async function startWorker(program: string, ...args: readonly string[]): Promise<Worker> {
  const child = fork(await bundle(program), args, {
    execArgv: ['--unhandled-rejections=strict', '--no-warnings'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  running.add(child)
  const acknowledged: string[] = []
  let [rest, stderr] = ['', '']
  child.stdout?.on('data', (part) => {
    const lines = `${rest}${part}`.split('\n')
    rest = lines.pop() ?? ''
    acknowledged.push(...lines)
  })
  child.stderr?.on('data', (part) => {
    stderr += part
  })
  const closed = once(child, 'close').then(([code, signal]) => {
    running.delete(child)
    return { code, signal, stderr }
  })
  const isReady = await Promise.race([once(child, 'message').then(() => true), closed.then(() => false)])
  if (!isReady) throw new Error(`a worker did not start: ${stderr}`)
  return { child, acknowledged, closed, go: () => void child.send('go') }
}

/** Ends the processes that a failed test has left. */
export function killWorkers(): void {
  for (const child of running) child.kill('SIGKILL')
}

import { spawn } from 'node:child_process'

/** A command line of a shell, under way. */
export interface CommandLine {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: Promise<number | null>
  /** Fulfilled once the output has that; rejects where the program ends without it. */
  until(pattern: RegExp): Promise<void>
  interrupt(signal?: 'SIGINT' | 'SIGTERM'): void
  /** At once, without a last word. */
  kill(): void
}

/** Starts a line of the shell, in a group of processes of its own, to be interrupted as a terminal does it. */
export function startShell(line: string, cwd: string, env: Readonly<Record<string, string>>): CommandLine {
  const child = spawn('sh', ['-c', line], { cwd, env: { ...process.env, ...env }, detached: true })
  const written = { stdout: '', stderr: '' }
  const watchers = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text
      for (const watch of watchers) watch()
    })
  const exitCode = new Promise<number | null>((resolve) => child.on('close', resolve))
  const send = (signal: NodeJS.Signals) => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, signal)
  }
  return {
    exitCode,
    get stdout() {
      return written.stdout
    },
    get stderr() {
      return written.stderr
    },
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const watch = () => {
          if (pattern.test(written.stdout) || pattern.test(written.stderr)) resolve()
        }
        watchers.add(watch)
        watch()
        exitCode.then((code) => reject(new Error(`ended with ${code}:\n${written.stdout}\n${written.stderr}`)))
      }),
    interrupt: (signal = 'SIGINT') => send(signal),
    kill: () => send('SIGKILL'),
  }
}

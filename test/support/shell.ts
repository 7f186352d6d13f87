import { spawn } from 'node:child_process'
import { Written } from './written.ts'

/** A running command line of a shell. */
export interface CommandLine {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: Promise<number | null>
  /** Resolves once the output contains the text; rejects if the program ends without it. */
  until(pattern: RegExp): Promise<void>
  interrupt(signal?: 'SIGINT' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): void
  /** Ends it immediately, without a last word. */
  kill(): void
}

/** Starts a line of the shell in its own process group, to be interrupted as by a terminal. */
export function startShell(line: string, cwd: string, env: Readonly<Record<string, string>>): CommandLine {
  const child = spawn('sh', ['-c', line], { cwd, env: { ...process.env, ...env }, detached: true })
  const written = new Written()
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => written.add(name, text))
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
    until: (pattern) => written.until(pattern, exitCode),
    interrupt: (signal = 'SIGINT') => send(signal),
    kill: () => send('SIGKILL'),
  }
}

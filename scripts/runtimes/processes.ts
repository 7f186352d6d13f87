import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

const running = new Set<ChildProcess>()

/** A child process: its output is kept, and it ends with this process at the latest. */
export class Process {
  readonly #child: ChildProcess
  readonly #exited: Promise<number>
  #output = ''

  /** @param env added to this process's environment */
  constructor(
    command: string,
    args: readonly string[],
    options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
  ) {
    const settings: SpawnOptions = {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      detached: true, // a process group, so that its own children can be ended with it
    }
    this.#child = spawn(command, args, settings)
    running.add(this.#child)
    for (const stream of this.#child.stdio)
      stream?.on('data', (part: Buffer) => {
        this.#output += part
      })
    this.#exited = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#output += error.message
        resolve(-1)
      })
      this.#child.once('close', (code) => resolve(code ?? -1))
    }).then((code) => {
      running.delete(this.#child)
      return code as number // resolved with numbers only
    })
  }

  /** All its output, of both streams. */
  get output(): string {
    return this.#output
  }

  /** Its exit code; -1 if a signal ended it or it never began. */
  exit(): Promise<number> {
    return this.#exited
  }

  /** Waits until its output matches. Rejects, with the output, if it ends before or takes too long. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const giveUpAt = performance.now() + 30_000
    let hasEnded = false
    this.#exited.then(() => {
      hasEnded = true
    })
    for (;;) {
      const found = pattern.exec(this.#output)
      if (found !== null) return found
      if (hasEnded || performance.now() > giveUpAt) throw new Error(`it never said ${pattern}:\n${this.#output}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  async stop(): Promise<void> {
    signal(this.#child, 'SIGTERM')
    const timer = setTimeout(() => signal(this.#child, 'SIGKILL'), 3_000)
    await this.#exited
    clearTimeout(timer)
  }
}

/** Ends everything that still runs, immediately. */
export function killAll(): void {
  for (const child of running) signal(child, 'SIGKILL')
}

function signal(child: ChildProcess, name: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, name)
  } catch {} // it ended just now
}

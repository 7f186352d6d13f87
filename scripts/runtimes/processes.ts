import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

const running = new Set<ChildProcess>()

/** A process that was started here: its output is kept, and it ends with us at the latest. */
export class Process {
  readonly #child: ChildProcess
  readonly #exited: Promise<number>
  #output = ''

  /** @param env is added to our own */
  constructor(
    command: string,
    args: readonly string[],
    options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
  ) {
    const settings: SpawnOptions = {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      detached: true, // a group of its own, so that what it starts can be ended with it
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

  /** All that it wrote, on whatever stream. */
  get output(): string {
    return this.#output
  }

  /** Its exit code; -1 where it was ended by a signal or never began. */
  exit(): Promise<number> {
    return this.#exited
  }

  /** Waits until its output matches. Rejects, with the output, when it has ended before or takes too long. */
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

/** Ends whatever still runs, at once. */
export function killAll(): void {
  for (const child of running) signal(child, 'SIGKILL')
}

function signal(child: ChildProcess, name: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, name)
  } catch {} // it ended this very moment
}

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** A command that failed, with what it wrote. */
export class CommandFailure extends Error {
  readonly stdout: string

  constructor(line: string, stdout: string, stderr: string) {
    super(`${line} failed:\n${`${stdout}\n${stderr}`.trim()}`)
    this.stdout = stdout
  }
}

/** Runs a command and returns what it wrote to stdout, without the last line break. Rejects with a CommandFailure. */
export async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, npm_config_update_notifier: 'false' }
  try {
    return (await execute(command, args, { cwd, env, maxBuffer: 64 << 20 })).stdout.trimEnd()
  } catch (error) {
    const { stdout = '', stderr = String(error) } = error as { readonly stdout?: string; readonly stderr?: string } // execFile adds them
    throw new CommandFailure([command, ...args].join(' '), stdout, stderr)
  }
}

/** Returns whether a command ends with 0. */
export function succeeds(cwd: string, command: string, ...args: readonly string[]): Promise<boolean> {
  return run(cwd, command, ...args).then(
    () => true,
    () => false,
  )
}

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Runs a command and returns what it wrote to stdout, without the last line break. Rejects with all that it wrote if it fails. */
export async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, npm_config_update_notifier: 'false' }
  try {
    return (await execute(command, args, { cwd, env, maxBuffer: 64 << 20 })).stdout.trimEnd()
  } catch (error) {
    const { stdout = '', stderr = String(error) } = error as { readonly stdout?: string; readonly stderr?: string } // execFile adds them
    throw new Error(`${[command, ...args].join(' ')} failed:\n${`${stdout}\n${stderr}`.trim()}`)
  }
}

/** Returns whether a command ends with 0. */
export function succeeds(cwd: string, command: string, ...args: readonly string[]): Promise<boolean> {
  return run(cwd, command, ...args).then(
    () => true,
    () => false,
  )
}

import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'tsup'
import { programs } from '../../scripts/entries.ts'
import { SECRET } from '../check/faulty/hand-written.ts'
import { ROOT } from '../support/repository.ts'

/** A command line of a shell, under way. */
interface CommandLine {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: Promise<number | null>
  /** Fulfilled once the output has that; rejects where the program ends without it. */
  until(pattern: RegExp): Promise<void>
  interrupt(): void
  /** At once, without a last word. */
  kill(): void
}

/** The program itself, built, and a folder in which a shell finds it as `postern`. */
export interface BuiltProgram {
  readonly folder: string
  start(line: string, env?: Readonly<Record<string, string>>): CommandLine
  remove(): Promise<void>
}

export async function buildProgram(): Promise<BuiltProgram> {
  await mkdir(join(ROOT, '.data'), { recursive: true })
  const folder = await mkdtemp(join(ROOT, '.data/cli-'))
  const bin = join(folder, 'bin')
  await build({
    config: false,
    entry: { ...programs },
    outDir: bin,
    format: 'esm',
    target: 'node20',
    removeNodeProtocol: false,
    silent: true,
  })
  await writeFile(join(bin, 'postern'), `#!/bin/sh\nexec "${process.execPath}" "${join(bin, 'cli.js')}" "$@"\n`)
  await chmod(join(bin, 'postern'), 0o755)
  return {
    folder,
    start: (line, env) =>
      startShell(line, folder, { PATH: `${bin}:${process.env.PATH}`, WEBHOOK_SECRET: SECRET, ...env }),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

function startShell(line: string, cwd: string, env: Readonly<Record<string, string>>): CommandLine {
  // A group of its own, to be interrupted as a terminal does it.
  const child = spawn('sh', ['-c', line], { cwd, env: { ...process.env, ...env }, detached: true })
  const written = { stdout: '', stderr: '' }
  const watchers = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text
      for (const watch of watchers) watch()
    })
  const exitCode = new Promise<number | null>((resolve) => child.on('close', resolve))
  const pid = child.pid ?? Number.NaN
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
    interrupt: () => process.kill(-pid, 'SIGINT'),
    kill: () => process.kill(-pid, 'SIGKILL'),
  }
}

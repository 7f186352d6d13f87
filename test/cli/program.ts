import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SECRET } from '../check/faulty/hand-written.ts'
import { buildOnce } from '../support/build-once.ts'
import { ROOT } from '../support/repository.ts'
import { type CommandLine, startShell } from '../support/shell.ts'

/** The built program, and a folder in which a shell finds it as `postern`. */
export interface BuiltProgram {
  readonly folder: string
  start(line: string, env?: Readonly<Record<string, string>>): CommandLine
  remove(): Promise<void>
}

export async function buildProgram(): Promise<BuiltProgram> {
  await mkdir(join(ROOT, '.data'), { recursive: true })
  const folder = await mkdtemp(join(ROOT, '.data/cli-'))
  const bin = join(folder, 'bin')
  await mkdir(bin)
  const main = join(await buildOnce(), 'cli.js')
  await writeFile(join(bin, 'postern'), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`)
  await chmod(join(bin, 'postern'), 0o755)
  return {
    folder,
    start: (line, env) =>
      startShell(line, folder, { PATH: `${bin}:${process.env.PATH}`, WEBHOOK_SECRET: SECRET, ...env }),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

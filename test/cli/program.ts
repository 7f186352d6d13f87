import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'tsup'
import { programs } from '../../scripts/entries.ts'
import { SECRET } from '../check/faulty/hand-written.ts'
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

import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import { ROOT } from './repository.ts'

const execute = promisify(execFile)

/** Runs a command and gives what it wrote to stdout. Rejects with both streams where it fails. */
export async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '', npm_config_update_notifier: 'false' }
  try {
    return (await execute(command, args, { cwd, env, maxBuffer: 16 << 20 })).stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string } // execFile adds them
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`)
  }
}

/**
 * Builds the package and packs it as `npm pack` does, in a folder of its own: neither `dist` nor anything else of the repository is
 * touched, so other tests and builds may run meanwhile.
 *
 * @returns the path of the tarball
 */
export async function pack(folder: string): Promise<string> {
  const stage = join(folder, 'stage')
  await mkdir(stage)
  await run(
    ROOT,
    process.execPath,
    'node_modules/tsup/dist/cli-default.js',
    '--silent',
    '--out-dir',
    join(stage, 'dist'),
  )
  const documents = packageJson.files.filter((file) => file !== 'dist')
  for (const file of ['package.json', ...documents]) await cp(join(ROOT, file), join(stage, file), { recursive: true })
  await run(stage, 'npm', 'pack', '--ignore-scripts', '--pack-destination', folder)
  const [tarball, ...others] = (await readdir(folder)).filter((file) => file.endsWith('.tgz'))
  if (tarball === undefined || others.length > 0) throw new Error('npm pack did not leave exactly one tarball')
  return join(folder, tarball)
}

/** An empty project with one package in it, and its dependencies. */
export async function installAlone(folder: string, tarball: string): Promise<void> {
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), '{ "name": "empty", "private": true }\n')
  await run(folder, 'npm', 'install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', tarball)
}

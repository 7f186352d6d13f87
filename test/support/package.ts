import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import { ROOT } from './repository.ts'

const execute = promisify(execFile)

/** Runs a command and returns its stdout. Rejects with both streams if it fails. */
export async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '', npm_config_update_notifier: 'false' }
  try {
    return (await execute(command, args, { cwd, env, maxBuffer: 16 << 20 })).stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string } // execFile adds them
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`)
  }
}

/** Unpacks the tarball in the `node_modules` of a folder, and links its dependencies and program, without npm and its registry. */
export async function unpack(folder: string, tarball: string): Promise<void> {
  const home = join(folder, 'node_modules', packageJson.name)
  await mkdir(home, { recursive: true })
  await run(folder, 'tar', '-xzf', tarball, '-C', home, '--strip-components=1')
  for (const name of Object.keys(packageJson.dependencies)) await linkPackage(folder, name)
  await linkPrograms(folder, packageJson.name)
}

/** Links a package of this repository in the `node_modules` of a folder, with its programs. */
export async function linkPackage(folder: string, name: string): Promise<void> {
  const target = join(ROOT, 'node_modules', name)
  if (!existsSync(target)) throw new Error(`${name} is not in node_modules of this repository`)
  const link = join(folder, 'node_modules', name)
  if (existsSync(link)) return
  await mkdir(dirname(link), { recursive: true })
  await symlink(target, link)
  await linkPrograms(folder, name)
}

async function linkPrograms(folder: string, name: string): Promise<void> {
  const home = join(folder, 'node_modules', name)
  const { bin = {} }: { bin?: string | Record<string, string> } = JSON.parse(
    await readFile(join(home, 'package.json'), 'utf8'),
  )
  const programs = typeof bin === 'string' ? { [basename(name)]: bin } : bin
  await mkdir(join(folder, 'node_modules/.bin'), { recursive: true })
  for (const [program, path] of Object.entries(programs)) {
    await chmod(join(home, path), 0o755)
    await symlink(join(home, path), join(folder, 'node_modules/.bin', program))
  }
}

/** Makes an empty project with one package in it, and its dependencies. */
export async function installAlone(folder: string, tarball: string): Promise<void> {
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), '{ "name": "empty", "private": true }\n')
  await run(folder, 'npm', 'install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', tarball)
}

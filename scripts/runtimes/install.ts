import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Runtime } from './runtimes.ts'

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'postern-runtimes')

/** Returns the path of a runtime's binary, from the cache or, once, from the npm registry that npm is configured for. */
export async function install(runtime: Runtime): Promise<string> {
  if (process.platform !== 'linux') throw new Error('the packages of the runtimes are named for Linux only')
  const home = homeOf(runtime)
  if (!existsSync(home)) await fill(home, `${runtime.package}@${runtime.version}`)
  return binaryOf(runtime)
}

/** The path of a runtime's binary, if the cache holds it. */
export function installed(runtime: Runtime): string | undefined {
  return existsSync(homeOf(runtime)) ? binaryOf(runtime) : undefined
}

function homeOf(runtime: Runtime): string {
  return join(CACHE, `${runtime.package}@${runtime.version}`.replaceAll('/', '+'))
}

function binaryOf(runtime: Runtime): string {
  return join(homeOf(runtime), 'node_modules', runtime.package, runtime.binary)
}

async function fill(home: string, spec: string): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(`${home}-`)
  try {
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
    await promisify(execFile)('npm', ['install', '--prefix', folder, ...flags, spec], { cwd: folder })
    await rename(folder, home) // all or nothing, even if two processes do it concurrently
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    if (!existsSync(home)) throw error
  }
}

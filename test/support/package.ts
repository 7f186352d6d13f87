import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import { listFiles, ROOT, readText } from './repository.ts'

const execute = promisify(execFile)
const DOCUMENTS = packageJson.files.filter((file) => file !== 'dist')
/** A build takes half a minute; after this time its process has died. */
const LEFT_BEHIND_MS = 300_000
const DAY_MS = 86_400_000

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

/**
 * Packs the sources as they are, as `npm pack` does, and returns the path of the tarball. Test files share it: the first that asks builds
 * it, which takes half a minute, and the others wait. Neither `dist` nor anything else of the repository is touched.
 */
export async function pack(): Promise<string> {
  const home = join(ROOT, `.data/package-${hashSources()}`)
  const site = `${home}-site`
  await mkdir(join(ROOT, '.data'), { recursive: true })
  while (!existsSync(home)) {
    if (await makeFolder(site)) await build(site, home)
    else await sleep(200)
  }
  return join(home, `${packageJson.name}-${packageJson.version}.tgz`)
}

/** Everything that the tarball is made of. */
function hashSources(): string {
  const hash = createHash('sha256')
  const manifests = ['package.json', 'package-lock.json', 'tsup.config.ts', 'tsconfig.json']
  const sources = ['src', 'adapters', 'scripts'].flatMap((folder) => listFiles(folder, '.ts', '.tsx', '.css', '.html'))
  const pages = listFiles('docs', '.md', '.svg', '.txt', '.webp', '.json', '.yml')
  const documents = [...DOCUMENTS.filter((file) => file !== 'docs'), ...pages]
  for (const path of [...manifests, ...documents, ...sources]) hash.update(`${path}\n${readText(path)}\n`)
  return hash.digest('hex').slice(0, 16)
}

/** Makes the folder in which one process builds. Says whether it did; one that a process left behind is removed. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path)
    return true
  } catch {
    const madeAt = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    )
    if (Date.now() - madeAt > LEFT_BEHIND_MS) await rm(path, { recursive: true, force: true })
    return false
  }
}

async function build(site: string, home: string): Promise<void> {
  try {
    const tsup = 'node_modules/tsup/dist/cli-default.js'
    const stage = join(site, 'stage')
    await run(ROOT, process.execPath, tsup, '--silent', '--out-dir', join(stage, 'dist'))
    for (const file of ['package.json', ...DOCUMENTS])
      await cp(join(ROOT, file), join(stage, file), { recursive: true })
    await run(stage, 'npm', 'pack', '--ignore-scripts', '--pack-destination', site)
    await rm(stage, { recursive: true })
    if (!existsSync(home)) await rename(site, home)
    await removeOldOnes(dirname(home))
  } finally {
    await rm(site, { recursive: true, force: true })
  }
}

/** Tarballs of former sources, which nobody uses any more. */
async function removeOldOnes(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((entry) => entry.startsWith('package-'))) {
    const path = join(folder, name)
    const { mtimeMs } = await stat(path)
    if (Date.now() - mtimeMs > DAY_MS) await rm(path, { recursive: true, force: true })
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

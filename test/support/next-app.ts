import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packOnce } from './build-once.ts'
import { run, unpack } from './package.ts'
import { ROOT, readText } from './repository.ts'

const SOURCE = join(ROOT, 'examples/next')
const MANIFESTS = ['package.json', 'package-lock.json', '.npmrc']
/** Leftovers of installing, building and running in place. */
const LEFTOVERS = ['node_modules', '.next', 'next-env.d.ts', 'postern.tgz']

type Environment = Readonly<Record<string, string>>

/** A copy of the example in a separate folder. */
export interface NextApp {
  readonly folder: string
  build(): Promise<void>
  /** Runs `next start`, which needs the build. */
  start(environment: Environment): Promise<NextServer>
  /** Runs `next dev`. */
  dev(environment: Environment): Promise<NextServer>
  remove(): Promise<void>
}

/** Next on a free port of loopback. */
export interface NextServer {
  readonly url: string
  /** All its output so far, to stdout and stderr. */
  log(): string
  isAlive(): boolean
  /** Sends SIGTERM and returns the exit code, which Next sets to 143; null if it had to be killed. */
  stop(): Promise<number | null>
}

/**
 * Packs the package, and copies the example with it. Next itself, some 370 MB, is installed once for each state of the lock file and found
 * in the folder above; the package is unpacked each time.
 */
export async function makeNextApp(): Promise<NextApp> {
  const tarball = await packOnce()
  const cache = await installOnce(tarball)
  const folder = await mkdtemp(join(cache, 'run-'))
  const left = [...LEFTOVERS, 'package-lock.json'].map((name) => join(SOURCE, name))
  await cp(SOURCE, folder, { recursive: true, filter: (path) => !left.includes(path) })
  await unpack(folder, tarball)
  // The core imports it, and Turbopack follows no link out of its root.
  const lruCache = join(folder, 'node_modules/lru-cache')
  await rm(lruCache)
  await cp(join(ROOT, 'node_modules/lru-cache'), lruCache, { recursive: true, dereference: true })
  return {
    folder,
    build: () => build(folder),
    start: (environment) => start(folder, ['start'], environment),
    dev: (environment) => start(folder, ['dev'], { NODE_ENV: 'development', ...environment }),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** An app with neither routes nor pages, in which the package is installed. */
export async function makeEmptyNextApp(): Promise<string> {
  const tarball = await packOnce()
  const folder = await mkdtemp(join(await installOnce(tarball), 'run-'))
  for (const name of ['package.json', 'tsconfig.json']) await copyFile(join(SOURCE, name), join(folder, name))
  await unpack(folder, tarball)
  return folder
}

/** The folder with everything that the lock file names, but for the package itself. */
async function installOnce(tarball: string): Promise<string> {
  const key = createHash('sha256').update(`${process.platform} ${process.arch}`)
  for (const name of MANIFESTS) key.update(readText(`examples/next/${name}`))
  const cache = join(tmpdir(), `postern-next-${key.digest('hex').slice(0, 16)}`)
  if (existsSync(cache)) return cache
  const folder = await mkdtemp(`${cache}-`)
  try {
    for (const name of MANIFESTS) await copyFile(join(SOURCE, name), join(folder, name))
    await copyFile(tarball, join(folder, 'postern.tgz'))
    await run(folder, 'npm', 'ci', '--ignore-scripts', '--prefer-offline')
    await rm(join(folder, 'node_modules/postern'), { recursive: true })
    await rename(folder, cache) // all or nothing, even if two runs do it concurrently
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    if (!existsSync(cache)) throw error
  }
  return cache
}

async function build(folder: string): Promise<void> {
  const child = spawnNext(folder, ['build'], {})
  const log = readLog(child)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`next build failed:\n${log()}`)
}

async function start(folder: string, command: readonly string[], environment: Environment): Promise<NextServer> {
  const child = spawnNext(folder, [...command, '--port', '0', '--hostname', '127.0.0.1'], environment)
  const log = readLog(child)
  const isAlive = () => child.exitCode === null && child.signalCode === null
  const killIt = () => child.kill('SIGKILL')
  process.once('exit', killIt) // if the tests are interrupted
  const ended = once(child, 'exit')

  async function stop(): Promise<number | null> {
    const timer = setTimeout(killIt, 20_000)
    child.kill('SIGTERM')
    await ended
    clearTimeout(timer)
    process.off('exit', killIt)
    return child.exitCode
  }

  while (isAlive()) {
    const url = /Local:\s+(http:\S+)[\s\S]*Ready in/.exec(log())?.[1]
    if (url !== undefined) return { url, log, isAlive, stop }
    await Promise.race([once(child.stdout, 'data'), ended])
  }
  throw new Error(`next ${command} ended:\n${log()}`)
}

function spawnNext(folder: string, args: readonly string[], environment: Environment) {
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    NODE_OPTIONS: '',
    NEXT_TELEMETRY_DISABLED: '1',
    NO_COLOR: '1',
    FORCE_COLOR: undefined,
    WEBHOOK_SECRET: undefined,
    ...environment,
  }
  const command = join(folder, '../node_modules/next/dist/bin/next')
  return spawn(process.execPath, [command, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
}

function readLog({ stdout, stderr }: ReturnType<typeof spawnNext>): () => string {
  let text = ''
  for (const stream of [stdout, stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
  }
  return () => text
}

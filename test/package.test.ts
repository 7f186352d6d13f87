import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { bundledPackages, entries, lookedFor } from '../scripts/entries.ts'
import { packOnce } from './support/build-once.ts'
import { readFacts } from './support/imports.ts'
import { installAlone, run } from './support/package.ts'
import { listFiles, ROOT, readText } from './support/repository.ts'

const specifiers = Object.keys(entries).map((name) => (name === 'index' ? 'postern' : `postern/${name}`))
/** Loads only in a run of Vitest. */
const FOR_VITEST = 'postern/testing/vitest'
/** Load only if their peers are installed. */
const WITH_PEERS = ['postern/otel', 'postern/bullmq']
const standalone = specifiers.filter((specifier) => specifier !== FOR_VITEST && !WITH_PEERS.includes(specifier))
const documents = packageJson.files.filter((file) => file !== 'dist' && existsSync(join(ROOT, file)))
/** The packages that a user has; every other one that the source imports is built in. */
const installed = [...Object.keys(packageJson.dependencies), ...Object.keys(packageJson.peerDependencies), ...lookedFor]

let folder: string
let tarball: string
let project: string
let dist: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-package-'))
  project = join(folder, 'project')
  dist = join(project, 'node_modules/postern/dist')
  tarball = await packOnce()
  await installAlone(project, tarball)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs a program in the empty project, and returns the JSON that it printed. */
async function runProgram(name: string, code: string): Promise<unknown> {
  await writeFile(join(project, name), code)
  return JSON.parse(await run(project, process.execPath, '--unhandled-rejections=strict', name))
}

/** Type-checks one file in the empty project, with Node's own types and no others. Rejects with the errors. */
async function checkProgram(name: string, code: string, options: object, compiler = 'typescript'): Promise<void> {
  await writeFile(join(project, name), code)
  const typeRoots = [join(ROOT, 'node_modules/@types')]
  const compilerOptions = { strict: true, noEmit: true, target: 'es2022', types: ['node'], typeRoots, ...options }
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [name] }))
  await run(project, process.execPath, join(ROOT, 'node_modules', compiler, 'bin/tsc'), '--project', 'tsconfig.json')
}

describe('the tarball', () => {
  it('passes publint and attw', async () => {
    const bin = join(ROOT, 'node_modules/.bin')
    await run(ROOT, join(bin, 'publint'), 'run', tarball, '--strict')
    await run(ROOT, join(bin, 'attw'), tarball, '--profile', 'esm-only')
  })

  it('holds the documents and the build of every subpath, and nothing else', async () => {
    const files = (await run(folder, 'tar', '-tzf', tarball)).trim().split('\n')
    const others = files.filter(
      (file) => !/^package\/dist\/(LICENSES\.txt|(testing\/)?[\w-]+(\.c?js|\.d\.ts))$/.test(file),
    )
    expect(others.sort()).toEqual(['package.json', ...documents].map((file) => `package/${file}`).sort())
    for (const name of Object.keys(entries))
      expect(files).toEqual(expect.arrayContaining([`package/dist/${name}.js`, `package/dist/${name}.d.ts`]))
  })

  it('has 600 kB at most', async () => {
    expect((await stat(tarball)).size).toBeLessThanOrEqual(600_000)
  })

  it('shows the line that threw in front of an error that nothing catches', async () => {
    const code = "import { createReceiver } from 'postern'\ncreateReceiver({ secret: 'test-secret', retries: 3 })"
    const output = await runProgram('throws.mjs', code).catch((error: Error) => error.message)
    const [, shown = ''] =
      /dist\/index\.js:\d+\n(.*)\n\s*\^\n\nConfigurationError: createReceiver has no option/.exec(String(output)) ?? []
    expect(shown).toMatch(/^\s+throw new ConfigurationError\(.{10,100}$/)
  })

  it('has lines of a length that a person reads, but for the page of the inspector', async () => {
    const files = (await readdir(dist)).filter((name) => name.endsWith('.js') && !name.startsWith('load-page'))
    for (const file of files) {
      const lines = (await readFile(join(dist, file), 'utf8')).split('\n')
      expect(lines.length, file).toBeGreaterThan(1)
      expect(lines.filter((line) => line.length > 1_000).length / lines.length, file).toBeLessThan(0.01)
    }
  })

  it('does not contain the machine or the folder that made it', async () => {
    for (const file of (await readdir(dist, { recursive: true })).filter((name) => /\.(js|ts)$/.test(name))) {
      const text = await readFile(join(dist, file), 'utf8')
      for (const trace of [ROOT, folder, '/node_modules/', 'sourceMappingURL'])
        expect(text.includes(trace), `${file} holds ${trace}`).toBe(false)
      expect(text, file).not.toMatch(/\w\.ts["']/)
    }
  })

  it('reads the time by what every runtime has: workerd has no process.hrtime', async () => {
    const text = await readFile(join(dist, 'index.js'), 'utf8')
    expect(text).toContain('performance.now()')
    expect(text).not.toMatch(/hrtime[.(]/)
  })

  it('brings its own dependencies, and no framework', async () => {
    const all = await readdir(join(project, 'node_modules'), { recursive: true })
    const folders = all.filter((path) => !path.replace(/^@[\w-]+\//, '').includes('/'))
    expect(folders).toEqual(expect.arrayContaining(['postern', ...Object.keys(packageJson.dependencies)]))
    expect(
      folders.filter((name) => /^(?:@[^/]+\/)?[\w-]+$/.test(name) && !/^@[^/]+$/.test(name)).length,
    ).toBeLessThanOrEqual(14)
    for (const absent of ['express', 'fastify', 'next', 'typescript']) expect(folders).not.toContain(absent)
  })

  it('has the licence of each package that is built into it, and names none in its declarations', async () => {
    const sources = [
      ...listFiles('src', '.ts'),
      ...listFiles('tools', '.ts', '.tsx'),
      ...listFiles('adapters', '.ts'),
    ].filter(
      (path) => !path.endsWith('load-page.ts'), // the build runs it
    )
    const used = sources.flatMap((path) => readFacts(path, readText(path)).imports.map(({ specifier }) => specifier))
    const names = used
      .filter((specifier) => /^[@a-z]/.test(specifier) && !specifier.startsWith('node:'))
      .map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? '')
    const builtIn = [...new Set(names)].filter((name) => !installed.includes(name)).sort()
    expect(builtIn).toEqual(bundledPackages)
    const licences = await readFile(join(dist, 'LICENSES.txt'), 'utf8')
    for (const name of builtIn) expect(licences).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\n\n`, 'm'))
    for (const file of (await readdir(dist)).filter((name) => name.endsWith('.d.ts'))) {
      const facts = readFacts(file, await readFile(join(dist, file), 'utf8'))
      expect(facts.imports.filter(({ specifier }) => builtIn.includes(specifier.split('/')[0] ?? ''))).toEqual([])
    }
  })

  /** The modules that every adapter loads with the core. */
  const CORE = ['lru-cache', 'node:buffer', 'node:crypto', 'node:events', 'node:util']

  it.each([
    ['index', CORE],
    ['express', [...CORE, 'node:util/types', 'raw-body']],
    ['fastify', [...CORE, 'node:util/types', 'raw-body']],
    ['next', CORE], // raw-body when the Pages Router reads a delivery
    ['node', [...CORE, 'node:util/types', 'raw-body']],
    ['web', CORE],
    ['redis', CORE],
    ['postgres', [...CORE, 'node:net', 'node:os']], // a connection of its own cancels a query
    ['sqlite', [...CORE, 'node:async_hooks', 'node:fs', 'node:os', 'node:path']], // its drivers when a file is opened
    ['bullmq', [...CORE, 'node:os']], // and what test/installs.test.ts tries
    ['models', ['zod']],
    ['client', CORE],
    ['testing', [...CORE, 'node:assert/strict', 'node:http', 'node:https', 'node:stream', 'node:timers/promises']],
    ['testing/vitest', CORE], // and vitest, or it says what to install
    ['otel', CORE],
    [
      'check',
      [
        ...CORE,
        'node:child_process',
        'node:http',
        'node:https',
        'node:stream/consumers',
        'node:timers/promises',
        'node:zlib',
      ],
    ],
    ['emulator', [...CORE, 'node:dns', 'node:http', 'node:http2', 'node:https', 'node:net', 'node:stream', 'zod']],
  ])('loads no more than necessary: %s', async (name, packages) => {
    expect(await packagesLoadedBy(`${name}.js`)).toEqual([...packages].sort())
  })
})

/** Returns the packages and parts of Node that a file of the build loads, itself or through its chunks. Ignores what `import()` loads later. */
async function packagesLoadedBy(start: string): Promise<readonly string[]> {
  const files = new Set([start])
  const packages = new Set<string>()
  for (const file of files) {
    const text = await readFile(join(dist, file), 'utf8')
    for (const statement of ts.createSourceFile(file, text, ts.ScriptTarget.Latest).statements) {
      if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) continue
      const module = statement.moduleSpecifier
      if (module === undefined || !ts.isStringLiteral(module)) continue
      if (module.text.startsWith('.')) files.add(posix.join(posix.dirname(file), module.text))
      else packages.add(module.text)
    }
  }
  return [...packages].sort()
}

describe('the program', () => {
  it('signs, verifies and checks, started by npx', async () => {
    await writeFile(join(project, 'secret.txt'), 'test-secret\n')
    await writeFile(join(project, 'body.json'), '{"id": "evt_1"}')
    const npx = (...args: readonly string[]) =>
      run(project, 'npx', '--no-install', 'postern', ...args, '--secret-file', 'secret.txt')
    expect(await run(project, 'npx', '--no-install', 'postern', '--version')).toBe(`${packageJson.version}\n`)
    const signature = (await npx('sign', 'body.json')).trim()
    expect(signature).toMatch(/^sha256=[0-9a-f]{64}$/)
    expect(JSON.parse(await npx('verify', 'body.json', '--json', '--header', signature))).toMatchObject({
      isRight: true,
    })
    const server = `
      import { createServer } from 'node:http'
      import { createReceiver } from 'postern'
      import { nodeHandler } from 'postern/node'
      const receiver = createReceiver({ secret: 'test-secret' }).on('*', () => {})
      createServer(nodeHandler(receiver)).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
    await writeFile(join(project, 'server.mjs'), server)
    const child = spawn(process.execPath, ['server.mjs'], { cwd: project, stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      const [port] = await once(child.stdout, 'data')
      const url = `http://127.0.0.1:${Number(port)}/webhooks`
      const report = JSON.parse(await npx('check', url, '--json', '-', '--skip', 'deadline'))
      expect(report).toMatchObject({ isReachable: true, summary: { fail: 0, warn: 0 } })
    } finally {
      child.kill()
    }
  })
})

describe('every subpath except those for Vitest, OpenTelemetry and BullMQ', () => {
  const toKeys = (names: readonly string[]) => [...names].sort()

  it.each([
    ['imported', 'import.mjs', (specifier: string) => `await import('${specifier}')`],
    ['required', 'require.cjs', (specifier: string) => `require('${specifier}')`],
  ] as const)('is %s', async (_how, file, load) => {
    const list = standalone.map((specifier) => `[${JSON.stringify(specifier)}, ${load(specifier)}]`)
    const code = `const all = [${list}].map(([name, module]) => [name, Object.keys(module)])\nconsole.log(JSON.stringify(all))`
    const found = await runProgram(file, code)
    const expected = standalone.map(async (name) => [name, toKeys(Object.keys(await import(/* @vite-ignore */ name)))])
    expect(found).toEqual(await Promise.all(expected))
  })

  it('has the same error classes, imported or required', async () => {
    const code = `
      import { createRequire } from 'node:module'
      import { ConfigurationError, createReceiver, PosternError } from 'postern'
      import { events, signed } from 'postern/testing'
      const required = createRequire(import.meta.url)('postern')
      const thrownBy = (act) => { try { act() } catch (error) { return error } }
      console.log(JSON.stringify([
        thrownBy(() => signed(events.contact.created(), { secret: '' })) instanceof ConfigurationError,
        thrownBy(() => required.sign('', '')) instanceof ConfigurationError,
        thrownBy(() => createReceiver({ secret: undefined })) instanceof required.ConfigurationError,
        required.PosternError === PosternError,
      ]))`
    expect(await runProgram('shared.mjs', code)).toEqual([true, true, true, true])
  })
})

describe('the subpath for OpenTelemetry', () => {
  const code = `
    import { createReceiver } from 'postern'
    import { events } from 'postern/testing'
    import { instrument } from 'postern/otel'
    const receiver = createReceiver({ secret: 'test-secret' }).on('*', () => {})
    instrument(receiver)
    console.log(JSON.stringify((await receiver.dispatch(events.contact.created())).outcome))`

  it('works without an SDK', async () => {
    await mkdir(join(project, 'node_modules/@opentelemetry'), { recursive: true })
    const api = 'node_modules/@opentelemetry/api'
    await symlink(join(ROOT, api), join(project, api))
    expect(await runProgram('otel.mjs', code)).toBe('handled')
    const required = "console.log(JSON.stringify(Object.keys(require('postern/otel'))))"
    expect(await runProgram('otel.cjs', required)).toEqual(['instrument'])
  })
})

describe('types', () => {
  const importAll = (names: readonly string[]) =>
    names.map((name, index) => `import * as m${index} from '${name}'\nexport const x${index} = m${index}\n`).join('')
  const MODERN = { module: 'nodenext' }
  const OLD = { module: 'commonjs', moduleResolution: 'node10', esModuleInterop: true }

  it.each([
    ['nodenext', 'all.mts', MODERN],
    ['node10', 'all.ts', OLD],
  ])('of all but Fastify are complete without any framework: %s', async (_what, name, options) => {
    const names = standalone.filter((specifier) => specifier !== 'postern/fastify')
    await checkProgram(name, importAll(names), { ...options, skipLibCheck: false })
  })

  it('are declared in files that exports names, so that TypeScript before 5.4 can name what an app exports', async () => {
    const files = (await readdir(dist, { recursive: true })).filter((file) => file.endsWith('.d.ts'))
    expect(files.sort()).toEqual(
      Object.keys(entries)
        .map((name) => `${name}.d.ts`)
        .sort(),
    )
  })

  it('of Fastify require Fastify, unless libraries go unchecked', async () => {
    const code = importAll(['postern/fastify'])
    await checkProgram('fastify.mts', code, { ...MODERN, skipLibCheck: true })
    const checked = checkProgram('fastify.mts', code, { ...MODERN, skipLibCheck: false })
    await expect(checked).rejects.toThrow(/postern\/dist\/fastify\.d\.ts.*Cannot find module 'fastify'/)
  })
})

import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { type PostgresServer, postgresProgram, startPostgres } from './engines/postgres-server.ts'
import { type RedisServer, redisProgram, startRedis } from './engines/redis-server.ts'
import { packOnce } from './support/build-once.ts'
import { readBlocks } from './support/examples.ts'
import { readSteps } from './support/guide.ts'
import { makeEmptyNextApp } from './support/next-app.ts'
import { run } from './support/package.ts'
import { listFiles, ROOT, readText } from './support/repository.ts'
import { startShell } from './support/shell.ts'
import { beginWalk, makeEmptyNestApp, makeEmptyProject, type Walk } from './support/walk.ts'

// Guides are followed word for word, in a folder that holds nothing but the package: the files that they have saved, the commands that
// they have typed. `npm run walk` prints how long the walks of seven readers take.

/** The first file of tests that needs the tarball builds it. */
const PACKED = 600_000
const SENT = [/ copy 1 +200 .* handled$/m, / copy 2 +200 .* duplicate$/m]
/** The output of a program that sends a delivery of another sender, typed twice. */
const TWICE = ['200 {"code":"handled"', '200 {"code":"duplicate"']
const ACCEPTED = / copy 2 +200 .* accepted$/m

interface Way {
  /** A guide, or `README.md#Heading`. */
  readonly pages: readonly string[]
  /** The output that must appear on the way. */
  readonly seen: readonly (string | RegExp)[]
}

const READERS: Readonly<Record<string, Way>> = {
  'an Express developer': {
    pages: ['README.md#First delivery', 'README.md#Typed handlers', 'docs/guides/express.md'],
    seen: ['1/5     200', 'welcome', ...SENT, '{"code":"unauthorized"}'],
  },
  'a Next.js developer': {
    pages: ['docs/guides/nextjs.md'],
    seen: SENT,
  },
  'a NestJS developer': {
    pages: ['docs/reference/runtimes.md#NestJS'],
    seen: ['welcome', ...SENT],
  },
  'a developer with Fastify and Postgres': {
    pages: ['docs/guides/fastify.md', 'docs/guides/postgres.md'],
    seen: [...SENT, 'contacts: 1', 'CREATE TABLE'],
  },
  'a developer who writes unit tests': {
    pages: ['README.md#Unit tests', 'docs/guides/testing.md'],
    seen: ['# pass 1', 'Tests  6 passed', 'Tests  3 passed', ' 0 failed'],
  },
  'the author of a receiver in Python': { pages: ['docs/guides/other-languages.md'], seen: [' 0 failed'] },
  'an operator': {
    pages: ['docs/guides/inbox.md', 'docs/guides/deployment.md'],
    seen: [ACCEPTED, 'minutes are fine', 'the customer does not exist', ...SENT],
  },
}

const GUIDES: Readonly<Record<string, Way['seen']>> = {
  'commonjs-and-jest.md': SENT,
  'emulator.md': ['1/5     200', '[ 500, 500, 200 ]'],
  'github.md': ['200 {"code":"accepted","id":"d1"}', 'pushed refs/heads/main by repository:7'],
  'node-and-fetch.md': SENT,
  'observability.md': ['process default', 'postern.dispatches'],
  'order.md': [],
  'own-sender.md': ['Linear is proven', 'Paddle is proven', 'Typeform is proven', 'Square is proven'],
  'own-store.md': ['passed'],
  'secrets.md': ['created ', / 1\/5 +200 .* handled$/m, ' 0 failed', ...SENT],
  'shopify.md': [...TWICE, 'order 820982911 of a.myshopify.com'],
  'sqlite.md': [...SENT, "handled [ { email: 'zoe@example.test' } ]"],
  'standard-webhooks.md': [...TWICE, "created { id: 'user_1' }"],
  'stores.md': [...SENT, 'created '],
  'stripe.md': [...TWICE, 'paid evt_1 of account acct_1'],
  'typed-handlers.md': ['invalid_record'],
}

/** Guides that no walk takes, and why. */
const NOT_WALKED: Readonly<Record<string, string>> = {
  'moving-from-hand-written.md': 'apps before and after, which test/docs.test.ts sends deliveries to',
  'sealing.md': 'its code is compiled by test/docs.test.ts, and what it says is in the suite of inboxes',
  'troubleshooting.md': 'its blocks are run by test/docs.test.ts',
}

/** `npm view` answers only if a registry can be reached. */
const hasRegistry = (await run(ROOT, 'npm', 'view', '@opentelemetry/api@1.9', 'version').catch(() => '')) !== ''

const isOfNest = (page: string) => page.endsWith('#NestJS')

let tarball: string
const engines: { redis?: RedisServer; postgres?: PostgresServer } = {}
const walks: Walk[] = []

beforeAll(async () => {
  const [packed, redis, postgres] = await Promise.all([
    packOnce(),
    redisProgram === undefined ? undefined : startRedis(),
    postgresProgram === undefined ? undefined : startPostgres(),
  ])
  tarball = packed
  Object.assign(engines, { redis, postgres })
}, PACKED)
afterAll(async () => {
  await Promise.all(walks.map((walk) => walk.end()))
  await Promise.all([engines.redis?.remove(), engines.postgres?.remove()])
})

/** Returns whether the engines that a way needs are on this machine. */
function canWalk(pages: readonly string[]): boolean {
  const needsRedis = pages.some((page) => /stores\.md|inbox/.test(page))
  const needsPostgres = pages.some((page) => /postgres|inbox/.test(page))
  if (pages.some(isOfNest) && !hasRegistry) return false
  return !(needsRedis && redisProgram === undefined) && !(needsPostgres && postgresProgram === undefined)
}

async function follow(title: string, { pages, seen }: Way): Promise<void> {
  const makeEmptyApp = () => (pages.some(isOfNest) ? makeEmptyNestApp(tarball) : makeEmptyProject(tarball))
  const isNext = pages.some((page) => page.includes('nextjs'))
  const folder = isNext ? await makeEmptyNextApp() : await makeEmptyApp()
  const walk = await beginWalk(folder, {
    'redis://localhost:6379': engines.redis?.url ?? '',
    'postgres://postgres:postgres@localhost:5432/postgres': engines.postgres?.url ?? '',
  })
  walks.push(walk)
  const started = performance.now()
  for (const page of pages) {
    const [path = '', heading] = page.split('#')
    await walk.follow(readSteps(path, ...(heading === undefined ? [] : [`## ${heading}`])))
  }
  tellTime(title, started)
  for (const text of seen) expect(walk.output()).toMatch(text)
}

function tellTime(title: string, started: number): void {
  if (process.env.FIGURES === '1') console.log(`${title}: ${((performance.now() - started) / 1_000).toFixed(1)} s`)
}

describe('a walk by', () => {
  for (const [reader, way] of Object.entries(READERS))
    it.skipIf(!canWalk(way.pages))(`${reader} leads to the end`, () => follow(reader, way))

  it('a visitor who has cloned the repository leads to the end', async () => {
    const started = performance.now()
    const command = startShell('npm start', ROOT, { NO_COLOR: '1', npm_config_loglevel: 'error' })
    expect(await command.exitCode, command.stdout + command.stderr).toBe(0)
    tellTime('a visitor who has cloned the repository', started)
  })
})

describe('a guide, followed word for word in an empty folder,', () => {
  for (const [page, seen] of Object.entries(GUIDES)) {
    const pages = [`docs/guides/${page}`]
    it.skipIf(!canWalk(pages)).concurrent(`works: ${page}`, () => follow(page, { pages, seen }))
  }

  it.skipIf(!hasRegistry)('works with what the registry has today: observability.md', async () => {
    const steps = readSteps('docs/guides/observability.md')
    const typed = steps.flatMap((step) => (step.does === 'type' && step.terminals === 'one' ? step.lines : []))
    const packages =
      typed
        .find((line) => line.startsWith('npm install'))
        ?.split(' ')
        .slice(2) ?? []
    const program = steps.find((step) => step.does === 'save')
    const folder = await mkdtemp(join(tmpdir(), 'postern-registry-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
    await run(folder, 'npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', tarball, ...packages)
    await writeFile(join(folder, 'console.mjs'), program?.does === 'save' ? program.code : '')
    const output = await run(folder, 'env', 'WEBHOOK_SECRET=test-secret', process.execPath, 'console.mjs')
    expect(output).toContain('postern.dispatches')
  })

  it('has a job of CI that runs what its reader has typed: testing.md', () => {
    const steps = readSteps('docs/guides/testing.md')
    const typed = steps.flatMap((step) => (step.does === 'type' ? step.lines : []))
    const [{ jobs }] = steps.flatMap((step) =>
      step.does === 'save' && step.language === 'yaml' ? [parse(step.code)] : [],
    )
    const script: readonly string[] = jobs.check.steps.flatMap(({ run }: { readonly run?: string }) => run ?? [])
    const [install, serve = '', wait, check] = script
    expect([install, wait, check]).toEqual(['npm ci', typed.at(-2), typed.at(-1)])
    expect(`WEBHOOK_SECRET=test-secret ${serve}`).toBe(`${typed.at(-4)} > server.log 2>&1 &`)
  })

  it('compiles with the types that it has had installed', () => {
    expect(checkWalks()).toEqual([])
  })

  it('names a file for each block of code, unless it shows what does not compile', () => {
    const lost = listFiles('docs/guides', '.md').flatMap((page) => {
      if (page.slice('docs/guides/'.length) in NOT_WALKED) return []
      const saved = readSteps(page).flatMap((step) => (step.does === 'save' ? [step.code] : []))
      const blocks = readBlocks([page]).filter(({ info }) => ['ts', 'js', 'python'].includes(info[0] ?? ''))
      return blocks.filter(({ info, code }) => info[1] !== 'wrong' && !saved.includes(code))
    })
    expect(lost.map(({ document, line }) => `${document}:${line}`)).toEqual([])
  })

  it('is each of docs/guides, or there is a reason', () => {
    const walked = Object.values(READERS).flatMap(({ pages }) =>
      pages.filter((page) => page.startsWith('docs/guides/')),
    )
    const named = [
      ...walked,
      ...[GUIDES, NOT_WALKED].flatMap((table) => Object.keys(table).map((page) => `docs/guides/${page}`)),
    ]
    expect(named.sort()).toEqual(listFiles('docs/guides', '.md'))
  })
})

/** The complaints of TypeScript about all that was saved, with the options of the guides. A `.mjs` file is TypeScript as well. */
function checkWalks(): readonly string[] {
  const [, json = ''] = /```json\n([\s\S]*?)```/.exec(readText('docs/README.md')) ?? []
  const { options } = ts.convertCompilerOptionsFromJson(JSON.parse(json).compilerOptions, '')
  const paths = walks.flatMap(({ folder, files }) =>
    [...files].flatMap(([file, language]) => {
      if (language !== 'ts') return []
      const path = join(folder, file)
      const twin = path.replace(/\.mjs$/, '.mts')
      if (twin !== path) writeFileSync(twin, readFileSync(path))
      return [twin]
    }),
  )
  const program = ts.createProgram(paths, {
    ...options,
    experimentalDecorators: true, // as in every app of NestJS
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
  })
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ file, messageText }) => `${file?.fileName} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
}

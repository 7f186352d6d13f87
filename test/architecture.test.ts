import { describe, expect, it } from 'vitest'
import { type Floors, findBreaches, type Rules } from './support/architecture.ts'
import { listFiles, readText } from './support/repository.ts'

const HTTP_TYPES = { packageTypes: ['node:http', 'node:http2'] }

const HTTP = 'adapters/http'
const NODE_ADAPTER = ['src/index.ts', ...['answer', 'body', 'check-options'].map((name) => `${HTTP}/${name}.ts`)]

const STORES = 'adapters/stores'
const QUEUES = 'adapters/queues'
const shared = (...names: readonly string[]) => names.map((name) => `${STORES}/${name}.ts`)
const redis = (...names: readonly string[]) => names.map((name) => `${STORES}/redis/${name}.ts`)

/** The allowed imports of each part. A new part or adapter needs a row here, and so a decision. */
const FLOORS: Floors = {
  'src/host/': { files: ['src/host/'] },
  'src/host/logger.ts': { packages: ['node:util'] },
  'src/protocol/': { files: ['src/protocol/'], packages: ['node:buffer', 'node:crypto', 'node:util'] },
  'src/store/names.ts': { files: ['src/host/node-env.ts', 'src/protocol/'], types: ['src/store/store.ts'] },
  'src/store/store.ts': { types: ['src/host/', 'src/protocol/'] },
  'src/store/transactional-store.ts': { files: ['src/protocol/'], types: ['src/store/store.ts'] },
  'src/store/memory-store.ts': { files: ['src/host/', 'src/protocol/', 'src/store/'], packages: ['lru-cache'] },
  'src/inbox/': { files: ['src/host/', 'src/protocol/', 'src/inbox/'] },
  'src/receiver/': {
    files: ['src/host/', 'src/protocol/', 'src/store/', 'src/inbox/', 'src/receiver/'],
    packageTypes: ['node:crypto'],
  },
  'src/receiver/winston-logger.ts': { files: ['src/host/', 'src/protocol/'], packages: ['node:util'] },
  'src/receiver/make-controller.ts': { packages: ['node:events'] },
  'src/models/': { packages: ['zod'] },
  'src/wire/': {
    files: ['src/host/', 'src/protocol/', 'src/wire/'],
    packages: ['node:crypto', 'node:http', 'node:https'],
  },
  'src/testing/': {
    files: ['src/host/', 'src/protocol/', 'src/wire/', 'src/testing/'],
    types: ['src/models/', 'src/store/', 'src/inbox/', 'src/receiver/'],
    packages: [
      ...['node:assert/strict', 'node:crypto', 'node:http', 'node:stream', 'node:timers/promises', 'node:util'],
    ],
  },
  'src/testing/vitest.ts': { files: ['src/testing/'], packages: ['vitest'] },
  'src/check/': {
    files: ['src/protocol/', 'src/wire/', 'src/check/'],
    packages: [
      ...['node:buffer', 'node:crypto', 'node:child_process', 'node:events', 'node:stream/consumers'],
      ...['node:timers/promises', 'node:zlib'],
    ],
  },
  'src/client/': { files: ['src/host/', 'src/protocol/', 'src/wire/json.ts', 'src/client/'], packages: ['zod'] },
  'src/emulator/': {
    files: ['src/host/', 'src/protocol/', 'src/wire/', 'src/inbox/inbox.ts', 'src/emulator/'],
    packages: [
      '@hono/node-server',
      '@hono/node-server/utils/response',
      'hono',
      'hono/body-limit',
      'hono/cookie',
      'hono/jwt',
      'hono/method-not-allowed',
      'hono/secure-headers',
      'hono/streaming',
      'node:crypto',
      'node:dns',
      'node:events',
      'node:http',
      'node:net',
      'zod',
    ],
  },
  'src/otel/': { files: ['src/index.ts', 'src/otel/'], packages: ['@opentelemetry/api'] },
  // In the package, the built page replaces this file.
  'src/emulator/inspector/load-page.ts': { packages: ['node:url', 'esbuild'] },
  'src/cli/': {
    files: [
      ...['host', 'protocol', 'wire', 'client', 'check', 'testing', 'emulator', 'cli'].map((name) => `src/${name}/`),
      ...['src/inbox/inbox.ts', 'adapters/stores/sqlite.ts', 'adapters/stores/sqlite/open-inbox.ts'],
      'adapters/stores/postgres/inbox/open-inbox.ts',
      'adapters/queues/bullmq/open-inbox.ts', // only when it is needed
    ],
    packages: [
      'commander',
      'node:crypto',
      'node:events',
      'node:fs/promises',
      'node:module',
      'node:net',
      'node:path',
      'node:process',
      'node:readline',
      'node:stream',
      'node:timers/promises',
      'node:util',
      'zod',
    ],
  },
  'src/cli/output/open-in-browser.ts': {
    files: ['src/cli/io.ts'],
    packages: ['node:child_process', 'node:events', 'node:process'],
  },
  'src/inspector/': {
    files: [
      'src/inspector/',
      'src/host/duration.ts',
      'src/protocol/schedule.ts',
      'src/protocol/show.ts',
      'src/protocol/iso-time.ts',
      'src/wire/code-word.ts',
      'src/wire/find-hint.ts',
      'src/wire/json.ts',
      'src/wire/match-type.ts',
      'src/wire/signings.ts',
    ],
    types: ['src/emulator/contract.ts', 'src/emulator/inspector/inbox-shapes.ts'],
    packages: ['preact', 'preact/hooks'],
  },
  'src/index.ts': { files: ['src/host/', 'src/protocol/', 'src/store/', 'src/inbox/', 'src/receiver/'] },
  [`${HTTP}/chunk.ts`]: {},
  [`${HTTP}/body.ts`]: {
    files: ['src/index.ts', ...['answer', 'chunk'].map((name) => `${HTTP}/${name}.ts`)],
    types: [`${HTTP}/check-options.ts`],
    packages: ['raw-body', 'node:util/types'],
    ...HTTP_TYPES,
  },
  [`${HTTP}/answer.ts`]: { files: ['src/index.ts'], ...HTTP_TYPES },
  [`${HTTP}/check-options.ts`]: { files: ['src/index.ts'] },
  [`${HTTP}/express.ts`]: { files: NODE_ADAPTER, ...HTTP_TYPES },
  [`${HTTP}/fastify.ts`]: { files: NODE_ADAPTER, packageTypes: ['fastify'] },
  [`${HTTP}/next.ts`]: { files: [...NODE_ADAPTER, `${HTTP}/web.ts`], ...HTTP_TYPES },
  [`${HTTP}/node.ts`]: { files: NODE_ADAPTER, ...HTTP_TYPES },
  [`${HTTP}/web.ts`]: { files: ['src/index.ts', `${HTTP}/check-options.ts`, `${HTTP}/chunk.ts`] },
  [`${STORES}/inbox-lines.ts`]: { files: ['src/index.ts'] },
  [`${STORES}/command-url.ts`]: {},
  [`${STORES}/claims.ts`]: { types: ['src/index.ts'], packages: ['node:crypto'] },
  [`${STORES}/lost-claims.ts`]: { files: ['src/index.ts'] },
  [`${STORES}/name-worker.ts`]: { packages: ['node:crypto', 'node:os'] },
  [`${STORES}/notices.ts`]: { types: ['src/index.ts'] },
  [`${STORES}/put-listeners.ts`]: {},
  [`${STORES}/stored-json.ts`]: {},
  [`${STORES}/unreachable.ts`]: { files: ['src/index.ts'] },
  [`${STORES}/redis.ts`]: { files: [`${STORES}/redis/`] },
  [`${STORES}/redis/`]: { types: ['src/index.ts'], packages: ['node:crypto'] },
  [`${STORES}/redis/redis-store.ts`]: {
    files: ['src/index.ts', `${STORES}/redis/`, ...shared('claims', 'lost-claims', 'notices', 'stored-json')],
  },
  [`${STORES}/redis/connection.ts`]: {
    files: redis('client', 'duplicate', 'scripts'),
    types: [...redis('open-calls'), ...shared('notices')],
    packages: ['node:crypto'],
  },
  [`${STORES}/redis/duplicate.ts`]: { files: redis('client'), packages: ['node:events'] },
  [`${STORES}/redis/client.ts`]: {
    files: ['src/index.ts'],
    types: redis('scripts'),
    packageTypes: ['node:events'],
  },
  [`${STORES}/postgres.ts`]: { files: [`${STORES}/postgres/`] },
  [`${STORES}/postgres/`]: {
    files: [...['src/index.ts', `${STORES}/postgres/`], ...shared('claims', 'lost-claims', 'notices')],
    packages: ['node:crypto'],
  },
  [`${STORES}/postgres/inbox/`]: {
    files: [
      ...['src/index.ts', `${STORES}/postgres/`],
      ...shared('inbox-lines', 'command-url', 'name-worker', 'put-listeners', 'stored-json', 'unreachable'),
    ],
    packages: ['pg'],
  },
  [`${STORES}/sqlite.ts`]: { files: [`${STORES}/sqlite/`] },
  [`${STORES}/sqlite/`]: {
    files: ['src/index.ts', `${STORES}/sqlite/`, ...shared('inbox-lines', 'claims', 'stored-json')],
    packages: ['node:fs', 'node:path'],
  },
  [`${STORES}/sqlite/sqlite-inbox.ts`]: {
    files: ['src/index.ts', `${STORES}/sqlite/`, ...shared('name-worker', 'put-listeners')],
  },
  [`${STORES}/sqlite/database.ts`]: {},
  [`${STORES}/sqlite/drivers.ts`]: {
    types: [`${STORES}/sqlite/database.ts`],
    packages: ['node:module', 'better-sqlite3', 'better-sqlite3/package.json', 'libsql'],
  },
  [`${QUEUES}/bullmq.ts`]: { files: [`${QUEUES}/bullmq/`] },
  [`${QUEUES}/bullmq/`]: {
    files: [
      'src/index.ts',
      `${QUEUES}/bullmq/`,
      ...shared('inbox-lines', 'command-url', 'name-worker', 'notices', 'put-listeners', 'unreachable'),
    ],
    packages: ['bullmq', 'node:buffer'],
  },
}

const RULES: Rules = {
  floors: FLOORS,
  maxLines: 300,
  maxFunction: { lines: 60, factoryLines: 80 },
  unspeakable: { below: 'src/', words: /\b(express|fastify|raw-body|next\.js)\b/i },
}

describe('the source', () => {
  const paths = [...listFiles('src', '.ts'), ...listFiles('src', '.tsx'), ...listFiles('adapters', '.ts')]
  const tree = new Map(paths.map((path) => [path, readText(path)]))

  it('keeps to its floors', () => {
    expect(findBreaches(tree, RULES)).toEqual([])
  })

  it.each(Object.keys(FLOORS))('has files on the floor %s', (floor) => {
    expect(paths.some((path) => path.startsWith(floor))).toBe(true)
  })
})

describe('a tree that breaks one rule', () => {
  const SOUND = {
    'src/host/clock.ts': 'export interface Clock {}\n',
    'src/protocol/signature.ts': "import { createHmac } from 'node:crypto'\nexport const sign = createHmac\n",
    'src/store/store.ts': "import type { Clock } from '../host/clock.ts'\nexport type Store = Clock\n",
    'src/receiver/run.ts': "import { sign } from '../protocol/signature.ts'\nexport const run = sign\n",
    'src/models/contact.ts': "import * as z from 'zod'\nexport const contact = z.string()\n",
    'src/testing/signed.ts': "import type { run } from '../receiver/run.ts'\nexport type Signed = typeof run\n",
    'src/index.ts': "export { run } from './receiver/run.ts'\n",
    'adapters/http/body.ts': "import getRawBody from 'raw-body'\nexport const body = getRawBody\n",
    'adapters/http/web.ts': "import type { run } from '../../src/index.ts'\nexport type Web = typeof run\n",
    'adapters/http/next.ts':
      "import { body } from './body.ts'\nimport type { Web } from './web.ts'\nexport const x: Web = body\n",
  }
  const breachesOf = (change: Readonly<Record<string, string>>) =>
    findBreaches(new Map(Object.entries({ ...SOUND, ...change })), RULES)

  it.each([
    ['a floor above', 'src/protocol/signature.ts', "import '../receiver/run.ts'\n"],
    ['a type of a floor above', 'src/protocol/signature.ts', "import type { run } from '../store/store.ts'\n"],
    ['an import() type', 'src/protocol/signature.ts', "export type S = import('../store/store.ts').Store\n"],
    ['a dynamic import', 'src/protocol/signature.ts', "export const s = () => import('../store/store.ts')\n"],
    ['I/O in the protocol', 'src/protocol/signature.ts', "import { readFile } from 'node:fs'\nexport { readFile }\n"],
    ['a value where types are allowed', 'src/testing/signed.ts', "import { run } from '../receiver/run.ts'\n"],
    ['the insides, from an adapter', 'adapters/http/web.ts', "import { run } from '../../src/receiver/run.ts'\n"],
    ['an adapter, from the source', 'src/receiver/run.ts', "import { body } from '../../adapters/http/body.ts'\n"],
    ['a file that is not there', 'src/receiver/run.ts', "import { gone } from './gone.ts'\n"],
  ])('fails for %s', (_what, path, text) => {
    const [breach, ...more] = breachesOf({ [path]: text }).filter((each) => !each.startsWith('cycle'))
    expect(breach).toMatch(new RegExp(`^${path}:1 (must not import|imports) `))
    expect(more).toEqual([])
  })

  it.each([
    ["export * from './run.ts'\n", 'src/receiver/all.ts:1 has export *'],
    ['export default function all() {}\n', 'src/receiver/all.ts:1 has a default export'],
    ['// for Fastify\n', 'src/receiver/all.ts names Fastify, which nothing below src/ may'],
    [
      `function long() {\n${'  //\n'.repeat(59)}}\n`,
      'src/receiver/all.ts:1 has a function of 61 lines; at most 60 are wanted',
    ],
    [
      `//\nconst createAll = () => {\n${'  //\n'.repeat(79)}}\n`,
      'src/receiver/all.ts:2 has a function of 81 lines; at most 80 are wanted',
    ],
    ['//\n'.repeat(300), 'src/receiver/all.ts has 300 lines; fewer than 300 are wanted'],
  ])('fails for %j', (text, breach) => {
    expect(breachesOf({ 'src/receiver/all.ts': text })).toEqual([breach])
  })

  it('fails for a part without a floor', () => {
    expect(breachesOf({ 'src/utils/misc.ts': '\n' })).toEqual([
      'src/utils/misc.ts stands on no floor; give it a row in the table',
    ])
  })

  it('fails for a cycle, including one of types', () => {
    const cycle = {
      'src/receiver/a.ts': "import type { B } from './b.ts'\nexport type A = B\n",
      'src/receiver/b.ts': "import type { C } from './c.ts'\nexport type B = C\n",
      'src/receiver/c.ts': "export type C = import('./a.ts').A\n",
    }
    expect(breachesOf(cycle)).toEqual([
      'cycle: src/receiver/a.ts -> src/receiver/b.ts -> src/receiver/c.ts -> src/receiver/a.ts',
    ])
  })
})

// Test files share processes: such a hook would run only for the first file that imports its module.
it('the modules of the tests have no hooks at their top, unless they are test files', () => {
  const modules = listFiles('test', '.ts').filter(
    (path) => !path.endsWith('.test.ts') && !path.startsWith('test/long/'),
  )
  expect(modules.length).toBeGreaterThan(50)
  expect(modules.filter((path) => /^(before|after)(Each|All)\(/m.test(readText(path)))).toEqual([])
})

import { describe, expect, it } from 'vitest'
import { type Floors, findBreaches, type Rules } from './support/architecture.ts'
import { listFiles, readText } from './support/repository.ts'

const PURE = ['src/host/', 'src/protocol/']
const STORES = 'adapters/stores'
const HELPERS = ['claims', 'dead-letters', 'lost-claims', 'name-worker', 'notices', 'put-listeners', 'stored-json']
const ENGINE = 'src/engine.ts'
const SHARED = [ENGINE, ...[...HELPERS, 'command-url', 'fill-in', 'inbox-lines'].map((name) => `${STORES}/${name}.ts`)]

/** The allowed imports of each folder. A new folder needs a row here, and so a decision. Nothing outside of tools/ imports from it. */
const FLOORS: Floors = {
  'src/index.ts': { files: [...PURE, 'src/store/', 'src/inbox/', 'src/receiver/'] },
  [ENGINE]: { files: [...PURE, 'src/inbox/', 'src/receiver/observer.ts'], types: ['src/store/', 'src/receiver/'] },
  'src/host/': { files: ['src/host/'], packages: ['node:util'] },
  'src/protocol/': {
    files: ['src/protocol/', 'src/host/escape.ts'],
    packages: ['node:buffer', 'node:crypto', 'node:util'],
  },
  'src/store/': { files: [...PURE, 'src/store/'], packages: ['lru-cache'] },
  'src/inbox/': { files: [...PURE, 'src/inbox/'], packages: ['node:crypto'] },
  'src/receiver/': {
    files: [...PURE, 'src/store/', 'src/inbox/', 'src/receiver/'],
    packages: ['node:events', 'node:util'],
    packageTypes: ['node:crypto'],
  },
  'src/models/': { packages: ['zod'] },
  'src/client/': { files: [...PURE, 'src/client/'] },
  'src/senders/': { files: [ENGINE, 'src/senders/'], packages: ['node:crypto'] },
  'src/otel/': { files: [ENGINE, 'src/otel/'], packages: ['@opentelemetry/api'] },

  'adapters/http/': {
    files: [ENGINE, 'adapters/http/'],
    packages: ['raw-body', 'node:util/types'],
    packageTypes: ['fastify', 'node:http', 'node:http2'],
  },
  [`${STORES}/`]: { files: [`${STORES}/`, ENGINE], packages: ['node:crypto', 'node:os'] },
  [`${STORES}/redis/`]: { files: [...SHARED, `${STORES}/redis/`], packages: ['node:crypto', 'node:events'] },
  [`${STORES}/postgres/`]: { files: [...SHARED, `${STORES}/postgres/`], packages: ['node:crypto', 'node:net'] },
  [`${STORES}/sqlite/`]: {
    files: [...SHARED, `${STORES}/sqlite/`],
    packages: [
      'node:async_hooks',
      'node:fs',
      'node:module',
      'node:path',
      'better-sqlite3',
      'better-sqlite3/package.json',
      'libsql',
    ],
  },
  'adapters/queues/': { files: [...SHARED, 'adapters/queues/'], packages: ['bullmq', 'node:buffer'] },

  'tools/wire/': { files: [...PURE, 'tools/wire/'], packages: ['node:crypto', 'node:http', 'node:https'] },
  'tools/testing/': {
    files: [...PURE, 'tools/wire/', 'tools/testing/'],
    types: ['src/models/', 'src/store/', 'src/receiver/'],
    packages: [
      ...['node:assert/strict', 'node:crypto', 'node:http', 'node:stream', 'node:timers/promises', 'node:util'],
      'vitest',
    ],
  },
  'tools/check/': {
    files: [...PURE, 'tools/wire/', 'tools/check/'],
    packages: [
      ...['node:buffer', 'node:crypto', 'node:child_process', 'node:events', 'node:stream/consumers'],
      ...['node:timers/promises', 'node:zlib'],
    ],
  },
  'tools/emulator/': {
    files: [
      ...[...PURE, 'src/inbox/', `${STORES}/sqlite/faults.ts`],
      ...['tools/wire/', 'tools/emulator/', 'tools/testing/manual-clock.ts'],
    ],
    packages: [
      ...[
        '@hono/node-server',
        '@hono/node-server/utils/response',
        'hono',
        'hono/body-limit',
        'hono/cookie',
        'hono/jwt',
      ],
      ...['hono/method-not-allowed', 'hono/route', 'hono/secure-headers', 'node:crypto', 'node:dns', 'node:events'],
      ...['node:http', 'node:net', 'node:url', 'zod'],
      'esbuild', // if run from its source: in the package, the built page replaces it
    ],
  },
  'tools/inspector/': {
    files: [...PURE, 'tools/wire/', 'tools/inspector/'],
    types: ['tools/emulator/'],
    packages: ['preact', 'preact/hooks'],
  },
  'tools/cli/': {
    files: [...PURE, 'src/inbox/', 'src/client/', 'adapters/', 'tools/'],
    packages: [
      ...[
        'commander',
        'node:child_process',
        'node:crypto',
        'node:events',
        'node:fs',
        'node:fs/promises',
        'node:module',
        'node:net',
      ],
      ...[
        'node:path',
        'node:process',
        'node:readline',
        'node:stream',
        'node:stream/consumers',
        'node:timers/promises',
        'node:util',
        'pg',
        'zod',
      ],
    ],
  },
}

const RULES: Rules = {
  floors: FLOORS,
  maxLines: 300,
  maxFunction: { lines: 60, factoryLines: 80 },
  unspeakable: { below: 'src/', words: /\b(express|fastify|raw-body|next\.js)\b/i },
}

describe('the source', () => {
  const paths = ['src', 'adapters', 'tools'].flatMap((folder) => listFiles(folder, '.ts', '.tsx'))
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
    'tools/testing/signed.ts':
      "import type { run } from '../../src/receiver/run.ts'\nexport type Signed = typeof run\n",
    'src/engine.ts': "export type { run } from './receiver/run.ts'\n",
    'adapters/http/body.ts': "import getRawBody from 'raw-body'\nexport const body = getRawBody\n",
    'adapters/http/web.ts': "import type { run } from '../../src/engine.ts'\nexport type Web = typeof run\n",
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
    ['a value where types are allowed', 'tools/testing/signed.ts', "import { run } from '../../src/receiver/run.ts'\n"],
    ['the insides, from an adapter', 'adapters/http/web.ts', "import { run } from '../../src/receiver/run.ts'\n"],
    ['an adapter, from the source', 'src/receiver/run.ts', "import { body } from '../../adapters/http/body.ts'\n"],
    ['a tool, from the source', 'src/receiver/run.ts', "import { signed } from '../../tools/testing/signed.ts'\n"],
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
    (path) => !path.endsWith('.test.ts') && !path.startsWith('test/proofs/long/'),
  )
  expect(modules.length).toBeGreaterThan(50)
  expect(modules.filter((path) => /^(before|after)(Each|All)\(/m.test(readText(path)))).toEqual([])
})

/**
 * Every subpath of the package and its source file, with `index` for the package itself. The build and the test runner read this list;
 * `exports` and `typesVersions` in package.json and `paths` in tsconfig.json cannot, and must be changed along with it.
 */
const servers = {
  express: 'adapters/http/express.ts',
  fastify: 'adapters/http/fastify.ts',
  next: 'adapters/http/next.ts',
  node: 'adapters/http/node.ts',
  web: 'adapters/http/web.ts',
}

const engines = {
  redis: 'adapters/stores/redis.ts',
  postgres: 'adapters/stores/postgres.ts',
  sqlite: 'adapters/stores/sqlite.ts',
  bullmq: 'adapters/queues/bullmq.ts',
  otel: 'src/otel/instrument.ts',
}

const senders = { senders: 'src/senders/senders.ts' }

const tools = {
  models: 'src/models/contact.ts',
  testing: 'tools/testing/testing.ts',
  'testing/vitest': 'tools/testing/vitest.ts',
  check: 'tools/check/check.ts',
  client: 'src/client/client.ts',
  emulator: 'tools/emulator/emulator.ts',
}

export const entries: Readonly<Record<string, string>> = {
  index: 'src/index.ts',
  ...servers,
  ...engines,
  ...senders,
  ...tools,
}

/** The program of the package, `bin` in package.json. It checks the version of Node before it loads the rest. */
const programs = { cli: 'tools/cli/start.ts' }

/**
 * The source files that other files of the build load from a file of their own, instead of containing a copy: the core, so that there is
 * one class of each error, and what `postern/next` loads later. Each file that Node loads costs about 1.5 ms, so these are all.
 */
export const shared: Readonly<Record<string, string>> = {
  'src/index.ts': 'index',
  'src/protocol/errors.ts': 'index',
  'adapters/http/body.ts': 'body',
}

/** The source files that the tools load from the file of their engine. Each exports there what it exports itself. */
export const sharedWithTools: Readonly<Record<string, string>> = {
  ...shared,
  'adapters/stores/sqlite.ts': 'sqlite',
  'adapters/stores/sqlite/sqlite-inbox.ts': 'sqlite',
  'adapters/stores/postgres/inbox/postgres-inbox.ts': 'postgres',
  'adapters/queues/bullmq/bullmq-inbox.ts': 'bullmq',
}

/** Entries that one run builds, and that share chunks. Each adapter of a server has its own copy of the little that they share. */
export const builds = {
  core: { index: 'src/index.ts' },
  library: [
    engines,
    senders,
    { body: 'adapters/http/body.ts' },
    ...Object.entries(servers).map(([name, path]) => ({ [name]: path })),
  ],
  tools: { ...tools, ...programs },
}

/**
 * Entries whose declarations one run builds. Each run imports from `index` and `testing` of the runs before what they export: TypeScript
 * before 5.4 names a type by the file that declares it, and `exports` must name that file.
 */
const { models, testing, ...others } = tools
export const declarations = [builds.core, { models, testing }, { ...servers, ...engines, ...senders, ...others }]

/** The packages that are built into the package, whose licences the build copies. */
export const bundledPackages = ['@hono/node-server', 'commander', 'hono', 'preact']

/** The packages that an entry needs, and the app installs: what to type if they are missing. */
export const neededPeers: Readonly<Record<string, string>> = {
  '@opentelemetry/api': 'postern/otel needs a package that is not installed: npm install @opentelemetry/api@1.9',
  bullmq: 'postern/bullmq needs a package that is not installed: npm install bullmq ioredis',
}

/** The packages that only some apps load, at run time: each place says what is missing. Tests and development have them, so no peers, which npm would install in production. */
export const lookedFor = ['better-sqlite3', 'libsql', 'pg', 'vitest']

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

const tools = {
  models: 'src/models/contact.ts',
  testing: 'src/testing/testing.ts',
  'testing/vitest': 'src/testing/vitest.ts',
  check: 'src/check/check.ts',
  client: 'src/client/client.ts',
  emulator: 'src/emulator/emulator.ts',
}

export const entries: Readonly<Record<string, string>> = { index: 'src/index.ts', ...servers, ...engines, ...tools }

/** The programs of the package: `bin` in package.json, and the source file of each. */
const programs: Readonly<Record<string, string>> = {
  cli: 'src/cli/main.ts',
}

/**
 * The files that all others load instead of containing a copy, so that there is one class of each error. A receiver is these two and its
 * adapter: each file that Node loads costs about 2 ms.
 */
export const shared: Readonly<Record<string, string>> = {
  index: 'src/index.ts',
  errors: 'src/protocol/errors.ts',
}

/** Entries that one run builds, and that share chunks. Each adapter of a server has its own copy of the little that they share. */
export const builds = {
  library: [shared, engines, ...Object.entries(servers).map(([name, path]) => ({ [name]: path }))],
  tools: { ...tools, ...programs },
}

/** The packages that are built into the package, whose licences the build copies. */
export const bundledPackages = ['@hono/node-server', 'commander', 'hono', 'lru-cache', 'preact']

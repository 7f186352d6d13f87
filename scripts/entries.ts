/**
 * Every subpath of the package and its source file, with `index` for the package itself. The build and the test runner read this list;
 * `exports` and `typesVersions` in package.json and `paths` in tsconfig.json cannot, and must be changed along with it.
 */
export const entries: Readonly<Record<string, string>> = {
  index: 'src/index.ts',
  express: 'adapters/http/express.ts',
  fastify: 'adapters/http/fastify.ts',
  next: 'adapters/http/next.ts',
  node: 'adapters/http/node.ts',
  web: 'adapters/http/web.ts',
  redis: 'adapters/stores/redis.ts',
  postgres: 'adapters/stores/postgres.ts',
  sqlite: 'adapters/stores/sqlite.ts',
  bullmq: 'adapters/queues/bullmq.ts',
  models: 'src/models/contact.ts',
  testing: 'src/testing/testing.ts',
  'testing/vitest': 'src/testing/vitest.ts',
  check: 'src/check/check.ts',
  client: 'src/client/client.ts',
  emulator: 'src/emulator/emulator.ts',
  otel: 'src/otel/instrument.ts',
}

/** The programs of the package: `bin` in package.json, and the source file of each. */
export const programs: Readonly<Record<string, string>> = {
  cli: 'src/cli/main.ts',
}

/**
 * Every subpath of the package and the source file behind it, `index` being the package itself.
 * The build and the test runner read this list; `exports` and `typesVersions` in package.json and `paths` in
 * tsconfig.json cannot, and have to be kept in step with it.
 */
export const entries: Readonly<Record<string, string>> = {
  index: 'src/index.ts',
  express: 'adapters/express.ts',
  fastify: 'adapters/fastify.ts',
  next: 'adapters/next.ts',
  node: 'adapters/node.ts',
  web: 'adapters/web.ts',
  redis: 'adapters/redis.ts',
  postgres: 'adapters/postgres.ts',
  sqlite: 'adapters/sqlite.ts',
  models: 'src/models/contact.ts',
  testing: 'src/testing/testing.ts',
  'testing/vitest': 'src/testing/vitest.ts',
  check: 'src/check/check.ts',
  client: 'src/client/client.ts',
  emulator: 'src/emulator/emulator.ts',
}

/** The programs of the package: `bin` in package.json, and the source file behind each. */
export const programs: Readonly<Record<string, string>> = {
  cli: 'src/cli/main.ts',
}

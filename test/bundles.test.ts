import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import webpack from 'webpack'
import { packOnce } from './support/build-once.ts'
import { findCodeBlocks, findSection } from './support/markdown.ts'
import { linkPackage, run, unpack } from './support/package.ts'
import { ROOT, readText } from './support/repository.ts'

const PACKAGES = ['@opentelemetry/api', 'bullmq', 'fastify', 'ioredis', 'libsql']
const PLUGINS = ['commonjs', 'json', 'node-resolve'].map((name) => `@rollup/plugin-${name}`)
const HANDLED = 200
/** No engine runs here: that the store or inbox was asked is enough. */
const UNAVAILABLE = 503
const EXPECTED = {
  ...{
    index: HANDLED,
    express: HANDLED,
    fastify: HANDLED,
    next: HANDLED,
    'next, Pages Router': HANDLED,
    node: HANDLED,
  },
  web: HANDLED,
  models: HANDLED,
  otel: HANDLED,
  sqlite: HANDLED,
  postgres: UNAVAILABLE,
  redis: UNAVAILABLE,
  bullmq: UNAVAILABLE,
  client: 'service_unreachable',
}

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-bundles-'))
  await unpack(folder, await packOnce())
  for (const name of [...PACKAGES, ...PLUGINS]) await linkPackage(folder, name)
  await copyFile(join(ROOT, 'test/support/bundled-app.mjs'), join(folder, 'app.mjs'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** Starts the app, and returns what each entry answered to a delivery. */
async function start(file: string): Promise<unknown> {
  return JSON.parse(await run(folder, process.execPath, file, `${file}.db`))
}

describe('an app of all entries, bundled', () => {
  it('handles a delivery to each as it is', async () => {
    expect(await start('app.mjs')).toEqual(EXPECTED)
  })

  const block = findCodeBlocks(findSection(readText('docs/guides/deployment.md'), '## Bundles'))[0]
  const lines = block?.code.trim().split('\n') ?? []

  it.each(lines)('handles a delivery to each: %s', async (line) => {
    const path = join(ROOT, 'node_modules/.bin') + delimiter + process.env.PATH
    await run(folder, 'env', `PATH=${path}`, 'sh', '-c', line.replace(/^npx /, ''))
    const [, file = ''] = /--(?:out)?file=(\S+)/.exec(line) ?? []
    expect(await start(file)).toEqual(EXPECTED)
  })

  it('handles a delivery to each: webpack', async () => {
    const stats = await new Promise<webpack.Stats | undefined>((resolve, reject) => {
      const output = { path: folder, filename: 'packed.cjs' }
      webpack({ context: folder, mode: 'production', target: 'node', entry: './app.mjs', output }, (error, result) =>
        error === null ? resolve(result) : reject(error),
      )
    })
    expect(stats?.toJson({ all: false, errors: true }).errors).toEqual([])
    expect(await start('packed.cjs')).toEqual(EXPECTED)
  })
})

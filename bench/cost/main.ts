import { fileURLToPath, pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { buildPage } from '../../tools/emulator/inspector/load-page.ts'
import { Contestant, median, print } from '../harness.ts'
import { benchTypes } from './types.ts'

const DIST = new URL('../../dist/', import.meta.url)
const OCTOKIT = new URL('../node_modules/@octokit/webhooks/dist-bundle/index.js', import.meta.url)

/** Rows 5, 6 and 11 of the goals: the cost of the package before it does anything. */
export async function benchCost({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  await benchMemory()
  await benchImports(isQuick ? 5 : 15)
  await benchBundles()
  benchTypes(isQuick ? 3 : 9)
}

async function benchMemory(): Promise<void> {
  const contestant = new Contestant('memory', 'cost/memory.mjs', [], ['--expose-gc'])
  const { first, each, claim } = await contestant.ask<{ first: number; each: number; claim: number }>({})
  contestant.stop()
  print('memory store, 100,000 ids', [
    ['before the first id', `${(first / 1e6).toFixed(1)} MB`],
    ['an id with its key', `${each.toFixed(0)} B`],
    ['claim and complete, full', `${claim.toFixed(2)} µs`],
  ])
}

async function benchImports(runs: number): Promise<void> {
  const modules = {
    nothing: 'nothing',
    postern: new URL('index.js', DIST).href,
    'postern/next': new URL('next.js', DIST).href,
    'postern + postern/web': new URL('web-and-core.mjs', import.meta.url).href,
    'postern/node': new URL('node.js', DIST).href,
    '@octokit/webhooks': pathToFileURL(fileURLToPath(OCTOKIT)).href,
  }
  const rows = [['', 'CPU', 'resident']]
  let base = { ms: 0, rss: 0 }
  for (const [name, module] of Object.entries(modules)) {
    const samples: { ms: number; rss: number }[] = []
    for (let run = 0; run < runs; run++) {
      const contestant = new Contestant(name, 'cost/import.mjs', [module])
      samples.push(await contestant.ask<{ ms: number; rss: number }>({}))
      contestant.stop()
    }
    const cost = { ms: median(samples.map(({ ms }) => ms)), rss: median(samples.map(({ rss }) => rss)) }
    if (name === 'nothing') base = cost
    else rows.push([name, `${(cost.ms - base.ms).toFixed(1)} ms`, `${((cost.rss - base.rss) / 1e6).toFixed(1)} MB`])
  }
  print(`import, in a process of its own (median of ${runs}, less an empty one)`, rows)
}

async function benchBundles(): Promise<void> {
  const entries = ['index', 'web', 'node', 'express', 'fastify', 'next', 'models', 'testing']
  const rows = [['minified, everything but node: in it', 'bytes', 'gzip']]
  for (const entry of entries)
    rows.push(await sizeOf(`postern${entry === 'index' ? '' : `/${entry}`}`, new URL(`${entry}.js`, DIST)))
  rows.push(await sizeOf('postern + postern/web', new URL('web-and-core.mjs', import.meta.url)))
  rows.push(await sizeOf('the same without lru-cache', new URL('web-and-core.mjs', import.meta.url), ['lru-cache']))
  rows.push(await sizeOf('@octokit/webhooks', OCTOKIT))
  const page = await buildPage()
  rows.push(['the page of the inspector', String(page.length), toKiB(gzipSync(page).length)])
  print('bundles', rows)
}

async function sizeOf(name: string, file: URL, external: readonly string[] = []): Promise<string[]> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(file)],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'node',
    logOverride: { 'ignored-bare-import': 'silent' }, // chunks of which no export is used
    external: ['node:*', 'express', 'fastify', ...external],
  })
  const code = outputFiles[0]?.contents ?? new Uint8Array()
  return [name, String(code.length), toKiB(gzipSync(code).length)]
}

function toKiB(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`
}

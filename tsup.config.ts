import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import type { Plugin } from 'esbuild'
import { build, defineConfig, type Options } from 'tsup'
import {
  builds,
  bundledPackages,
  declarations,
  lookedFor,
  neededPeers,
  shared,
  sharedWithTools,
} from './scripts/entries.ts'
import { pagePlugin } from './tools/emulator/inspector/load-page.ts'

/** Leaves the import of a shared file in each other file that imports it. All files of the build are in one folder, but for `testing/vitest`. */
function sharedPlugin(files: Readonly<Record<string, string>>): Plugin {
  return {
    name: 'shared',
    setup({ onResolve }) {
      const names = new Map(Object.entries(files).map(([path, name]) => [resolve(path), name]))
      onResolve({ filter: /^\..*\.ts$/ }, ({ path, resolveDir, kind }) => {
        const name = kind === 'entry-point' ? undefined : names.get(resolve(resolveDir, path))
        const isOwnCopy = name === 'body' && kind !== 'dynamic-import'
        return name === undefined || isOwnCopy ? undefined : { path: `./${name}.js`, external: true }
      })
    },
  }
}

/**
 * Has an entry say what to type if its package is missing: an import that fails cannot be caught without keeping `require()` from loading the
 * entry. A file of CommonJS loads the package. It must not throw itself: Node 20 then ends the process even if the app catches the error.
 */
const peerPlugin: Plugin = {
  name: 'peer',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[@a-z]/ }, ({ path }) => (path in neededPeers ? { path, namespace: 'peer' } : undefined))
    onResolve({ filter: /^\./, namespace: 'peer' }, ({ path }) => ({ path, external: true }))
    onLoad({ filter: /./, namespace: 'peer' }, ({ path }) => {
      const names = Object.keys(createRequire(import.meta.url)(path)).filter((name) => name !== 'default')
      return {
        contents: `
          import { load } from './${toPeerFile(path)}'
          let found
          try {
            found = load()
          } catch (cause) {
            if (cause.code !== 'MODULE_NOT_FOUND' || !cause.message.includes("'${path}'")) throw cause
            throw Object.assign(new Error('${neededPeers[path]}', { cause }), { code: 'ERR_MODULE_NOT_FOUND' })
          }
          export const { ${names} } = found`,
      }
    })
  },
}

const toPeerFile = (name: string) => `load-${name.replaceAll(/\W+/g, '-').replace(/^-/, '')}.cjs`

async function writePeerFiles(folder: string): Promise<void> {
  for (const name of Object.keys(neededPeers))
    await writeFile(join(folder, toPeerFile(name)), `'use strict'\nexports.load = () => require('${name}')\n`)
}

/** Lets commander, which is CommonJS, load Node's modules in an ES module. */
const requirePlugin: Plugin = {
  name: 'require',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === 'require-call' ? { path, namespace: 'require' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'require' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}')`,
    }))
  },
}

/** Writes the licences of the packages that are built in. */
async function writeLicences(folder: string): Promise<void> {
  const texts = bundledPackages.map(async (name) => {
    const home = join('node_modules', name)
    const { version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'))
    const file = (await readdir(home)).find((entry) => /^licen[cs]e/i.test(entry)) ?? 'LICENSE'
    return `${name} ${version}\n\n${(await readFile(join(home, file), 'utf8')).trim()}\n`
  })
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'LICENSES.txt'), (await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n\n`))
}

/** Writes the declarations of each entry into one file. A hash in a file's name would get into the declarations of users. */
async function writeDeclarations(outDir: string): Promise<void> {
  const homes = new Map<string, string>()
  const runs: Promise<void>[] = []
  for (const entry of declarations) {
    const external = [...homes.keys()].map((path) => new RegExp(`/${path}$`))
    runs.push(build({ config: false, silent: true, format: 'esm', entry, external, outDir, dts: { only: true } }))
    for (const [name, path] of Object.entries(entry).filter(([key]) => key === 'index' || key === 'testing'))
      for (const file of [path, ...(await listExported(path))]) if (!homes.has(file)) homes.set(file, name)
  }
  await Promise.all(runs)
  const files = (await readdir(outDir, { recursive: true })).filter((file) => file.endsWith('.d.ts'))
  for (const file of files.map((name) => join(outDir, name))) {
    const text = await readFile(file, 'utf8')
    const source = /'([./]+\/)((?:src|tools)\/.+\.ts)'/g
    await writeFile(
      file,
      text.replace(source, (_, up, path) => `'${up}${homes.get(path)}.js'`),
    )
  }
}

/** Returns the files whose exports an entry exports too. */
async function listExported(path: string): Promise<readonly string[]> {
  const names = (await readFile(path, 'utf8')).matchAll(/ from '(\..+)'/g)
  return [...names].map(([, name = '']) => join(dirname(path), name))
}

export default defineConfig(async ({ outDir = 'dist', dts }) => {
  await rm(outDir, { recursive: true, force: true })
  await writeLicences(outDir)
  await writePeerFiles(outDir)
  if (dts !== false) await writeDeclarations(outDir)
  const common: Options = {
    format: 'esm',
    target: 'node20',
    platform: 'node',
    splitting: true,
    removeNodeProtocol: false,
    external: [...lookedFor],
    noExternal: Object.keys(neededPeers), // peerPlugin decides
  }
  return [
    { ...common, entry: builds.core },
    ...builds.library.map((entry) => ({ ...common, entry, esbuildPlugins: [sharedPlugin(shared), peerPlugin] })),
    // The inspector's page is built into the package.
    {
      ...common,
      entry: builds.tools,
      esbuildPlugins: [sharedPlugin(sharedWithTools), pagePlugin, requirePlugin],
    },
  ]
})

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Plugin } from 'esbuild'
import { build, defineConfig, type Options } from 'tsup'
import { builds, bundledPackages, declarations, shared, sharedWithTools } from './scripts/entries.ts'
import { pagePlugin } from './src/emulator/inspector/load-page.ts'

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
    // A run whose entries are all in `src` writes paths from there.
    const source = /'([./]+\/)(?:src\/)?(.+\.ts)'/g
    await writeFile(
      file,
      text.replace(source, (_, up, path) => `'${up}${homes.get(`src/${path}`)}.js'`),
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
  if (dts !== false) await writeDeclarations(outDir)
  const common: Options = {
    format: 'esm',
    target: 'node20',
    platform: 'node',
    splitting: true,
    removeNodeProtocol: false,
    minifyWhitespace: true,
    minifySyntax: true, // names stay, for the stacks of errors
    // Node prints the line that threw: it must not be the whole file.
    esbuildOptions: (options) => {
      options.lineLimit = 400
    },
  }
  return [
    // lru-cache reads the time for what we don't use, and naming `performance` makes Node load another 1 ms of itself.
    { ...common, entry: builds.core, define: { performance: 'Date' } },
    ...builds.library.map((entry) => ({ ...common, entry, esbuildPlugins: [sharedPlugin(shared)] })),
    // The inspector's page is built into the package.
    {
      ...common,
      entry: builds.tools,
      minify: true,
      esbuildPlugins: [sharedPlugin(sharedWithTools), pagePlugin, requirePlugin],
    },
  ]
})

import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build } from 'tsup'
import packageJson from '../../package.json' with { type: 'json' }
import { COMPATIBILITY_DATES } from './runtimes.ts'

/** Packages that the programs import beside this one. */
const PACKAGES = ['express', 'fastify', 'ioredis', 'libsql', 'pg', 'redis']

/**
 * Makes a folder in which the package is built and installed as in an app, together with the program: `app/` for the runtimes that read
 * packages, `worker/` bundled for the others.
 */
export async function prepare(root: string, folder: string): Promise<void> {
  const modules = join(folder, 'node_modules')
  await mkdir(join(modules, 'postern'), { recursive: true })
  await cp(join(root, 'package.json'), join(modules, 'postern/package.json'))
  for (const name of [...Object.keys(packageJson.dependencies), ...PACKAGES]) {
    await mkdir(dirname(join(modules, name)), { recursive: true }) // for a name with a scope
    await symlink(join(root, 'node_modules', name), join(modules, name))
  }
  await build({ config: join(root, 'tsup.config.ts'), outDir: join(modules, 'postern/dist'), dts: false, silent: true })

  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n')
  await cp(join(root, 'scripts/runtimes/app'), join(folder, 'app'), { recursive: true })
  await build({
    config: false,
    silent: true,
    entry: { suites: join(root, 'scripts/runtimes/app/suites.js') },
    outDir: join(folder, 'app'),
    format: 'esm',
    target: 'es2022',
    external: [/^[a-z]/],
    removeNodeProtocol: false,
  })
  await build({
    config: false,
    silent: true,
    entry: { worker: join(folder, 'app/workerd.js') },
    outDir: join(folder, 'worker'),
    outExtension: () => ({ js: '.js' }),
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    noExternal: [/^(?!node:)/],
    external: [/^node:/],
    removeNodeProtocol: false,
    esbuildOptions: (options) => {
      options.conditions = ['workerd', 'worker', 'browser']
      options.mainFields = ['browser', 'module', 'main']
    },
  })
  const config = await readFile(join(folder, 'app/workerd.capnp'), 'utf8')
  for (const date of COMPATIBILITY_DATES)
    await writeFile(join(folder, `worker/${date}.capnp`), config.replace('COMPATIBILITY_DATE', date))
}

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import packageJson from '../../package.json' with { type: 'json' }
import { run } from './package.ts'
import { listFiles, ROOT, readText } from './repository.ts'

const DOCUMENTS = packageJson.files.filter((file) => file !== 'dist' && existsSync(join(ROOT, file)))
const TSUP = join(ROOT, 'node_modules/tsup/dist/cli-default.js')
/** A process that builds shows that it lives. After this time without a sign it has died. */
const LEFT_BEHIND_MS = 120_000
const SIGN_MS = 5_000
const DAY_MS = 86_400_000

/**
 * Packs the sources as they are, as `npm pack` does, and returns the path of the tarball. The check and all test files share it: the first
 * that asks makes it, which takes half a minute, and the others wait. Neither `dist` nor anything else of the repository is touched.
 */
export async function packOnce(): Promise<string> {
  const home = await makeOnce('package', async (site) => {
    const stage = join(site, 'stage')
    await run(ROOT, process.execPath, TSUP, '--silent', '--out-dir', join(stage, 'dist'))
    for (const file of ['package.json', ...DOCUMENTS])
      await cp(join(ROOT, file), join(stage, file), { recursive: true })
    await run(stage, 'npm', 'pack', '--ignore-scripts', '--pack-destination', site)
    await rm(stage, { recursive: true })
  })
  return join(home, `${packageJson.name}-${packageJson.version}.tgz`)
}

/** Builds the sources as they are, without their types, and returns the path of the folder, for all test files. This takes some seconds. */
export function buildOnce(): Promise<string> {
  return makeOnce('build', async (site) => {
    await run(ROOT, process.execPath, TSUP, '--silent', '--no-dts', '--out-dir', site)
  })
}

/** Has a folder made once for these sources, whichever process asks first, and returns its path. */
async function makeOnce(what: string, make: (site: string) => Promise<void>): Promise<string> {
  const home = join(ROOT, `.data/${what}-${hashSources()}`)
  const site = `${home}-site`
  await mkdir(join(ROOT, '.data'), { recursive: true })
  while (!existsSync(home)) {
    if (!(await makeFolder(site))) {
      await sleep(200)
      continue
    }
    const signs = setInterval(() => utimes(site, new Date(), new Date()).catch(() => {}), SIGN_MS)
    try {
      await make(site)
      if (!existsSync(home)) await rename(site, home)
      await removeOldOnes(what)
    } finally {
      clearInterval(signs)
      await rm(site, { recursive: true, force: true })
    }
  }
  return home
}

/** Everything that a build or a tarball is made of. */
function hashSources(): string {
  const hash = createHash('sha256')
  const manifests = ['package.json', 'package-lock.json', 'tsup.config.ts', 'tsconfig.json']
  const sources = ['src', 'adapters', 'tools', 'scripts'].flatMap((folder) =>
    listFiles(folder, '.ts', '.tsx', '.css', '.html', 'tsconfig.json'),
  )
  for (const path of [...manifests, ...DOCUMENTS, ...sources]) hash.update(`${path}\n${readText(path)}\n`)
  return hash.digest('hex').slice(0, 16)
}

/** Makes the folder in which one process builds. Says whether it did; one that a process left behind is removed. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path)
    return true
  } catch {
    const madeAt = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    )
    if (Date.now() - madeAt > LEFT_BEHIND_MS) await rm(path, { recursive: true, force: true })
    return false
  }
}

/** Removes those of former sources, which nobody uses any more. */
async function removeOldOnes(what: string): Promise<void> {
  for (const name of (await readdir(join(ROOT, '.data'))).filter((entry) => entry.startsWith(`${what}-`))) {
    const path = join(ROOT, '.data', name)
    const { mtimeMs } = await stat(path)
    if (Date.now() - mtimeMs > DAY_MS) await rm(path, { recursive: true, force: true })
  }
}

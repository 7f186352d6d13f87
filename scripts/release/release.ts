/**
 * `npm run release`: tries everything about a release that can be tried here, then makes its commit and its tag. All of it happens in a
 * working tree of its own, so that a step that fails leaves nothing behind. It never publishes: the workflow does that, on the tag.
 */
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { installed, install as installRuntime } from '../runtimes/install.ts'
import { RUNTIMES } from '../runtimes/runtimes.ts'
import { moveEntries } from './changelog.ts'
import { CONTENTS, formatContents } from './contents.ts'
import { pack, packAsListed } from './pack.ts'
import { findRefusals, type Plan } from './refusals.ts'
import { run } from './run.ts'
import { nextVersion } from './version.ts'

const USAGE = `usage: npm run release -- patch|minor|major|VERSION [--dry-run] [--offline]
       npm run release -- --contents

Tries a release of main and makes its commit and tag; pushing the tag publishes it, by the workflow. --dry-run makes neither.
--offline downloads no Node to try it on. --contents writes ${CONTENTS} from a new build.`

/** Called with a line about each step, for the maintainer. */
export type Say = (line: string) => void

const TRY = fileURLToPath(new URL('try-package.mjs', import.meta.url))

/** Obeys the arguments of `npm run release` in a repository. Rejects with what has to be mended first; nothing has changed then. */
export async function release(root: string, args: readonly string[], say: Say): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean', default: false },
      offline: { type: 'boolean', default: false },
      contents: { type: 'boolean', default: false },
    },
  })
  if (values.contents) return inFolder((folder) => writeContents(root, folder, say))

  const { name, version: current } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const [wanted, ...others] = positionals
  if (wanted === undefined || others.length > 0) throw new Error(USAGE)
  const version = nextVersion(current, wanted)
  if (version === undefined)
    throw new Error(`"${wanted}" is no version of three numbers from ${current} on, nor patch, minor or major`)

  const plan: Plan = { root, name, version, tag: `v${version}`, isOffline: values.offline }
  const refusals = await findRefusals(plan)
  if (refusals.length > 0) throw new Error(`no release of ${version}:\n${refusals.map((why) => `- ${why}`).join('\n')}`)

  await inFolder(async (folder) => {
    const commit = await inTree(root, join(folder, 'tree'), (tree) => prepare(plan, tree, folder, say))
    if (values['dry-run']) return say('dry run: nothing was committed or tagged')
    await place(plan, commit)
    say(`committed and tagged ${plan.tag}. Next, to publish it: git push --atomic origin main ${plan.tag}`)
  })
}

/** Makes the release in a tree and tries it. Returns its commit, which no branch knows yet. */
async function prepare({ name, version, isOffline }: Plan, tree: string, folder: string, say: Say): Promise<string> {
  await run(tree, 'npm', 'version', version, '--no-git-tag-version', '--allow-same-version', '--ignore-scripts')
  const changes = join(tree, 'CHANGELOG.md')
  const today = new Date().toISOString().slice(0, 10)
  await writeFile(changes, moveEntries(await readFile(changes, 'utf8'), version, today))

  say('npm run check …')
  say(await run(tree, 'npm', 'run', '--silent', 'check'))
  const { path, files } = await packAsListed(tree, folder)
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  say(`packed ${files.length} files, ${Math.round(bytes / 1_000)} kB, as ${CONTENTS} lists them`)
  say(await run(tree, process.execPath, TRY, path, ...(await findNodes(isOffline, say))))

  await run(tree, 'git', 'commit', '--quiet', '--all', '--message', `Release ${name} ${version}`)
  return run(tree, 'git', 'rev-parse', 'HEAD')
}

/** The Node that runs this, and each supported one that can be had. */
async function findNodes(isOffline: boolean, say: Say): Promise<readonly string[]> {
  const nodes = [process.execPath]
  for (const runtime of RUNTIMES.filter(({ title }) => title === 'Node')) {
    try {
      const binary = isOffline ? installed(runtime) : await installRuntime(runtime)
      if (binary === undefined) throw new Error('it is not in the cache')
      nodes.push(binary)
    } catch {
      say(`not tried here: Node ${runtime.version}; the workflow tries it`)
    }
  }
  return nodes
}

/** Moves main to the commit and tags it, or does neither. */
async function place({ root, tag, version }: Plan, commit: string): Promise<void> {
  await run(root, 'git', 'tag', '--annotate', '--message', version, tag, commit)
  try {
    await run(root, 'git', 'merge', '--quiet', '--ff-only', commit)
  } catch (error) {
    await run(root, 'git', 'tag', '--delete', tag)
    throw error
  }
}

async function writeContents(root: string, folder: string, say: Say): Promise<void> {
  const { files } = await pack(root, folder)
  await writeFile(join(root, CONTENTS), formatContents(files))
  say(`wrote ${CONTENTS}: ${files.length} files. Read the difference before you commit it`)
}

/** Lends a folder, and takes it back whatever happens. */
async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'postern-release-'))
  try {
    await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Lends a working tree of HEAD with the installed packages. */
async function inTree<T>(root: string, tree: string, use: (tree: string) => Promise<T>): Promise<T> {
  await run(root, 'git', 'worktree', 'add', '--quiet', '--detach', tree, 'HEAD')
  try {
    await symlink(join(root, 'node_modules'), join(tree, 'node_modules'))
    return await use(tree)
  } finally {
    await run(root, 'git', 'worktree', 'remove', '--force', tree)
  }
}

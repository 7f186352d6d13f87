import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasEntries } from './changelog.ts'
import { run } from './run.ts'

export interface Plan {
  /** The folder of the repository. */
  readonly root: string
  readonly name: string
  readonly version: string
  readonly tag: string
  /** No runtime is downloaded. */
  readonly isOffline: boolean
}

/** Everything that speaks against a release, each with its fix. */
export async function findRefusals(plan: Plan): Promise<readonly string[]> {
  const checks = [checkBranch, checkTree, checkRepository, checkChanges, checkTag]
  const found = await Promise.all(checks.map((check) => check(plan)))
  return found.filter((refusal) => refusal !== undefined)
}

type Refusal = string | undefined

async function checkBranch({ root }: Plan): Promise<Refusal> {
  const branch = await run(root, 'git', 'branch', '--show-current')
  return branch === 'main' ? undefined : `the branch is ${branch || 'none'}: git switch main`
}

async function checkTree({ root }: Plan): Promise<Refusal> {
  const changed = await run(root, 'git', 'status', '--porcelain')
  return changed === '' ? undefined : `the tree has changes that are not committed:\n${changed}`
}

/** The registry refuses a provenance whose repository is not the one that package.json names, and by then the tag is public. */
async function checkRepository({ root }: Plan): Promise<Refusal> {
  const { repository } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  return /github\.com\/[^/]+\/[^/]+\.git$/.test(String(repository?.url))
    ? undefined
    : 'package.json names no repository on GitHub, and the registry refuses provenance without: "repository": { "type": "git", "url": "git+https://github.com/OWNER/NAME.git" }'
}

async function checkChanges({ root }: Plan): Promise<Refusal> {
  return hasEntries(await readFile(join(root, 'CHANGELOG.md'), 'utf8'))
    ? undefined
    : 'CHANGELOG.md has no entries under "Unreleased": there is nothing to release'
}

async function checkTag({ root, tag }: Plan): Promise<Refusal> {
  return (await run(root, 'git', 'tag', '--list', tag)) === '' ? undefined : `the tag ${tag} is there already`
}

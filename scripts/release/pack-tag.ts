/**
 * `npx tsx scripts/release/pack-tag.ts TAG FOLDER`, for the workflow: refuses a tag that is not the release it says it is, and packs the
 * rest into the folder, compared with the committed list.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { hasVersion } from './changelog.ts'
import { packAsListed } from './pack.ts'
import { succeeds } from './run.ts'

async function main(): Promise<void> {
  const [tag, target] = process.argv.slice(2)
  if (tag === undefined || target === undefined) throw new Error('usage: pack-tag.ts TAG FOLDER')
  const root = process.cwd()
  const { version, repository } = JSON.parse(await readFile('package.json', 'utf8'))
  if (tag !== `v${version}`) throw new Error(`the tag is ${tag}, and package.json says ${version}`)
  if (!hasVersion(await readFile('CHANGELOG.md', 'utf8'), version))
    throw new Error(`CHANGELOG.md has no section for ${version} with a date`)
  if (!(await succeeds(root, 'git', 'merge-base', '--is-ancestor', 'HEAD', 'origin/main')))
    throw new Error(`${tag} is not on main of origin`)
  const { GITHUB_REPOSITORY } = process.env
  if (GITHUB_REPOSITORY && !String(repository?.url).endsWith(`github.com/${GITHUB_REPOSITORY}.git`))
    throw new Error(`the repository is ${GITHUB_REPOSITORY}, and package.json says ${repository?.url}`)

  const folder = resolve(target)
  await mkdir(folder, { recursive: true })
  const { path, files } = await packAsListed(root, folder)
  console.log(`${path}: ${files.length} files`)
}

await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
})

import { appendFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { release as obey } from '../scripts/release/release.ts'
import { run as runCommand } from '../scripts/release/run.ts'
import { buildOnce } from './support/build-once.ts'
import { ROOT } from './support/repository.ts'

const TSX = join(ROOT, 'node_modules/tsx/dist/cli.mjs')
const CONTENTS = 'scripts/release/contents.txt'

/** Sets the committer, and turns signing off, whatever git's settings here are. */
const GIT = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.test',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.test',
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'commit.gpgsign',
  GIT_CONFIG_VALUE_0: 'false',
  GIT_CONFIG_KEY_1: 'tag.gpgsign',
  GIT_CONFIG_VALUE_1: 'false',
}

let folder: string
/** Our own repository as it is here, ready for a release, with a check that takes no time and a build without declarations, made once. */
let ready: string

beforeAll(async () => {
  Object.assign(process.env, GIT)
  folder = await mkdtemp(join(tmpdir(), 'postern-releases-'))
  ready = join(folder, 'ready')
  await runCommand(folder, 'git', 'clone', '--quiet', '--no-local', '--depth=1', `file://${ROOT}`, ready)
  await runCommand(ready, 'git', 'checkout', '--quiet', '-B', 'main')
  await symlink(join(ROOT, 'node_modules'), join(ready, 'node_modules'))
  for (const path of await changedHere()) await writeFile(join(ready, path), await readFile(join(ROOT, path)))
  const built = await buildOnce()
  await edit(ready, 'package.json', (text) => {
    const { scripts, ...rest } = JSON.parse(text)
    const repository = { type: 'git', url: 'git+https://github.com/example/postern.git' }
    return JSON.stringify({
      ...rest,
      version: '0.1.0',
      repository,
      scripts: { ...scripts, prepack: `rm -rf dist && cp -r ${built} dist`, check: 'node -e ""' },
    })
  })
  await edit(ready, 'CHANGELOG.md', () => '# Changes\n\n## Unreleased\n\n### Added\n\n- A thing.\n')
  await release(ready, '--contents')
  await commit(ready)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** Returns the files of a release that are not committed yet. */
async function changedHere(): Promise<readonly string[]> {
  const args = 'diff --name-only --diff-filter=d HEAD -- src adapters scripts *.json'
  const names = await runCommand(ROOT, 'git', ...args.split(' '))
  return names.split('\n').filter((name) => name !== '')
}

async function edit(repository: string, path: string, change: (text: string) => string): Promise<void> {
  await writeFile(join(repository, path), change(await readFile(join(repository, path), 'utf8')))
}

async function commit(repository: string): Promise<void> {
  await runCommand(repository, 'git', 'add', '--all')
  await runCommand(repository, 'git', 'commit', '--quiet', '--message', 'Change something')
}

/** A repository that is ready for a release, with a bare one as its origin. */
async function newRepository(): Promise<{ readonly root: string; readonly origin: string }> {
  const home = await mkdtemp(join(folder, 'one-'))
  const [root, origin] = [join(home, 'repository'), join(home, 'origin.git')]
  await runCommand(home, 'git', 'clone', '--quiet', '--bare', ready, origin)
  await runCommand(home, 'git', 'clone', '--quiet', origin, root)
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  return { root, origin }
}

/** Obeys the arguments in a repository, and returns what is said. */
async function release(root: string, ...args: readonly string[]): Promise<string> {
  const said: string[] = []
  await obey(root, args, (line) => said.push(line))
  return said.join('\n')
}

/** Runs a program of the release in a repository. */
function start(root: string, program: string, ...args: readonly string[]): Promise<string> {
  return runCommand(root, process.execPath, TSX, join(ROOT, 'scripts/release', program), ...args)
}

/** All that a release could leave behind. */
async function stateOf(root: string): Promise<readonly string[]> {
  return Promise.all([
    runCommand(root, 'git', 'rev-parse', 'HEAD'),
    runCommand(root, 'git', 'tag', '--list'),
    runCommand(root, 'git', 'worktree', 'list'),
    runCommand(root, 'git', 'status', '--porcelain'),
  ])
}

/** Expects a release to be refused with this text, and to leave everything as it was. */
async function expectRefusal(root: string, args: readonly string[], why: string | RegExp): Promise<void> {
  const before = await stateOf(root)
  await expect(release(root, ...args)).rejects.toThrow(why)
  expect(await stateOf(root)).toEqual(before)
}

describe('npm run release', () => {
  it.each<[string, (root: string) => Promise<unknown>, string]>([
    ['a branch other than main', (root) => runCommand(root, 'git', 'switch', '-qc', 'other'), 'the branch is other'],
    ['a changed file', (root) => appendFile(join(root, 'README.md'), 'more'), 'not committed:\n M README.md'],
    ['a tag that is there', (root) => runCommand(root, 'git', 'tag', 'v0.1.1'), 'the tag v0.1.1 is there already'],
    [
      'changes without an entry',
      async (root) => {
        await edit(
          root,
          'CHANGELOG.md',
          () => '# Changes\n\n## Unreleased\n\n### Added\n\n## 0.1.0 - 2026-01-01\n\n- A thing.\n',
        )
        await commit(root)
      },
      'no entries under "Unreleased"',
    ],
  ])('refuses %s', async (_what, spoil, why) => {
    const { root } = await newRepository()
    await spoil(root)
    await expectRefusal(root, ['patch', '--offline'], why)
  })

  it.each([[[]], [['patch', 'minor']], [['1.0']]])('refuses the arguments %j', async (args) => {
    const { root } = await newRepository()
    await expectRefusal(root, args, /usage:|Unknown option|is no version/)
  })

  it('leaves nothing behind when a check fails, or the tarball is not as listed', async () => {
    const { root } = await newRepository()
    await edit(root, 'package.json', (text) => text.replace('node -e \\"\\"', 'node -e \\"process.exit(3)\\"'))
    await commit(root)
    await expectRefusal(root, ['patch', '--offline'], 'npm run --silent check failed')

    await runCommand(root, 'git', 'revert', '--no-edit', 'HEAD')
    await edit(root, CONTENTS, (text) =>
      text.replace(/^.* LICENSE\n/m, ' 999999 CHANGELOG.txt\n').replace(/^ *\d+ (SECURITY)/m, '1 $1'),
    )
    await commit(root)
    await expectRefusal(
      root,
      ['patch', '--offline'],
      /LICENSE is new[\s\S]*SECURITY.md has \d+ bytes, 1 in[\s\S]*CHANGELOG.txt is missing/,
    )
  })

  it('makes one commit and one tag, which can be pushed and packed by the workflow', async () => {
    const { root, origin } = await newRepository()
    await mkdir(join(root, 'dist'))
    await writeFile(join(root, 'dist/stray.js'), '') // which git ignores, and the tarball must not hold
    const [before] = await stateOf(root)
    const said = await release(root, '0.1.0', '--offline')
    expect(said).toMatch(/git push --atomic origin main v0\.1\.0$/)
    const today = new Date().toISOString().slice(0, 10)
    const [head, tags, trees, changed] = await stateOf(root)
    expect({ tags, changed }).toEqual({ tags: 'v0.1.0', changed: '' })
    expect(trees?.split('\n')).toHaveLength(1)
    expect(await runCommand(root, 'git', 'rev-parse', 'HEAD^', 'v0.1.0^{commit}')).toBe(`${before}\n${head}`)
    expect(await readFile(join(root, 'CHANGELOG.md'), 'utf8')).toContain(
      `## Unreleased\n\n## 0.1.0 - ${today}\n\n### Added\n\n- A thing.`,
    )
    expect(JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))).toMatchObject({ version: '0.1.0' })

    const packTag = (tag: string) => start(root, 'pack-tag.ts', tag, '.data/packed')
    await expect(packTag('v0.1.0')).rejects.toThrow('v0.1.0 is not on main of origin')
    await runCommand(root, 'git', 'push', '--quiet', '--atomic', 'origin', 'main', 'v0.1.0')
    expect(await runCommand(origin, 'git', 'rev-parse', 'v0.1.0^{commit}', 'main')).toBe(`${head}\n${head}`)
    await expect(packTag('v0.2.0')).rejects.toThrow('the tag is v0.2.0, and package.json says 0.1.0')
    expect(await packTag('v0.1.0')).toMatch(/postern-0\.1\.0\.tgz: \d+ files$/)
  })
})

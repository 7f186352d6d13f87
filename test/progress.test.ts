import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { run } from './support/package.ts'
import { ROOT } from './support/repository.ts'
import { makeTestFolder } from './support/test-folder.ts'

const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[\\d*m`, 'g')
const CONFIG = `
  import { closingLine } from '${ROOT}scripts/closing-line.ts'
  import { progress } from '${ROOT}scripts/progress.ts'
  export default { test: { reporters: [['minimal', { silent: false }], progress({ everyMs: 0 }), closingLine], include: ['*.check.ts'], isolate: false } }`

/** Runs so many files of one test each in a project of their own, without a terminal. */
async function runFiles(count: number): Promise<string> {
  const folder = makeTestFolder()
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'vitest.config.ts'), CONFIG)
  for (let index = 0; index < count; index++)
    await writeFile(join(folder, `n${index}.check.ts`), "import { it } from 'vitest'\nit('passes', () => {})\n")
  return run(folder, process.execPath, 'node_modules/vitest/vitest.mjs', 'run')
}

it('says first how many files run and how long that takes, then how far it is, without control characters', async () => {
  // A CI without a terminal may still want colours.
  const plain = (await runFiles(24)).replaceAll(COLOURS, '')
  const lines = plain.split('\n').filter((line) => / files/.test(line))
  expect(lines[0]).toBe('24 test files, about 30 s on two cores')
  expect(lines[1]).toMatch(/^\d+ of 24 files, \d+ tests passed, 0 failed/)
  expect(lines).toContainEqual(expect.stringMatching(/^12 of 24 files, 12 tests passed, 0 failed, about \d+ s left$/))
  expect(lines.at(-1)).toMatch(/^23 of 24 files/)
  expect(plain.trimEnd().split('\n').at(-1)).toBe('24 passed, 0 failed')
  expect([...plain].filter((character) => character < ' ' && character !== '\n')).toEqual([])
})

it('keeps quiet about a few files', async () => {
  expect(await runFiles(3)).not.toMatch(/ files/)
})

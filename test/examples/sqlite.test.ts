import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'

async function runExample(...args: readonly string[]): Promise<readonly string[]> {
  const line = ['--no-warnings', '--import', 'tsx', 'examples/sqlite/main.ts', ...args]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, line)
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

it('examples/sqlite writes each contact once, in every run on its file', async () => {
  const path = join(makeTestFolder(), 'app.db')
  const handled = '200 handled, 200 handled, 200 handled'
  const duplicate = '200 duplicate, 200 duplicate, 200 duplicate'
  const sum = '3 contacts, each written once'
  expect(await runExample(path)).toEqual([handled, handled, handled, sum])
  expect(await runExample(path)).toEqual([duplicate, duplicate, duplicate, sum])
  expect(await runExample()).toEqual([handled, handled, handled, sum])
})

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { ROOT } from '../support/repository.ts'

const TSX = join(ROOT, 'node_modules/.bin/tsx')

it.concurrent.each<[string, RegExp]>([
  [
    'registration',
    /^webhook active, new, 1 without a saved secret deleted\nwebhook active, as it was\n(.*\n)?1 delivered, 1 webhook\n(.*\n)?$/,
  ],
  [
    'rotation',
    /rotation finished; one event id in both webhooks: true\n\d+ events, \d+ handled, 0 twice, \d+ copies answered\n$/,
  ],
  ['healing', /^40 events failed .*\ninterrupted; .*\nresumed; 40 of 40 handled, 0 twice, 0 failed\n$/],
])('the example %s succeeds, and exits 0', async (name, output) => {
  // It rejects on any other exit code.
  const { stdout } = await promisify(execFile)(TSX, [`examples/${name}/main.ts`], { cwd: ROOT })
  expect(stdout).toMatch(output)
})

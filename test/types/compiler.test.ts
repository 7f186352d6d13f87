import { join } from 'node:path'
import { expect, it } from 'vitest'
import { run } from '../support/package.ts'
import { ROOT } from '../support/repository.ts'

/** It takes half a minute of CPU. */
const SLOW = 600_000

// The check judges the source, and the @ts-expect-error lines of the type tests, by TypeScript 7. Users have 5.9 too.
it(
  'TypeScript 5.9 accepts the source and the type tests',
  async () => {
    expect(await run(ROOT, process.execPath, join(ROOT, 'node_modules/typescript/bin/tsc'), '--noEmit')).toBe('')
  },
  SLOW,
)

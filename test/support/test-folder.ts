import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Makes an empty folder, which is removed when the test that runs has ended. */
export function makeTestFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

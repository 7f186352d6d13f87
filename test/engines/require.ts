import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * Returns the path of an engine's program on this machine; undefined if it is missing, so that its tests are skipped, which is reported in
 * one line. With REQUIRE_ENGINES=1, as in CI, that is an error instead.
 *
 * @param folders further folders to search, after the PATH
 */
export function findEngine(program: string, ...folders: readonly string[]): string | undefined {
  const inPath = (process.env.PATH ?? '').split(delimiter)
  const path = [...inPath, ...folders].map((folder) => join(folder, program)).find(existsSync)
  if (path !== undefined) return path
  if (process.env.REQUIRE_ENGINES === '1')
    throw new Error(`${program} is not on this machine, and REQUIRE_ENGINES=1 allows no test of it to be skipped.`)
  console.log(`${program} is not on this machine: its tests are skipped.`)
  return undefined
}

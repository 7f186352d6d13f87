import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'

/** Makes an empty folder for each test of a file. */
export function useFolder() {
  let path = ''
  beforeEach(() => {
    path = makeTestFolder()
  })
  const at = (...names: readonly string[]) => join(path, ...names)
  return {
    get path() {
      return path
    },
    at,
    read: (name: string) => readFile(at(name), 'utf8'),
    write: (name: string, content: string | Uint8Array) => writeFile(at(name), content),
  }
}

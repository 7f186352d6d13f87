import { rm, writeFile } from 'node:fs/promises'
import { platform } from 'node:process'
import { expect, it, vi } from 'vitest'
import { openInBrowser } from '../../tools/cli/output/open-in-browser.ts'
import { useFolder } from './folder.ts'
import { createTestIo } from './test-io.ts'

const URL = 'http://127.0.0.1:4010/_inspector'

const folder = useFolder()

/** Makes a program that writes down its arguments. */
async function makeBrowser(name: string): Promise<string> {
  const path = folder.at(name)
  await writeFile(path, `#!/bin/sh\necho "$@" > ${folder.at('opened')}\n`, { mode: 0o755 })
  return path
}
const readOpened = () => folder.read('opened').catch(() => '')

it.skipIf(platform === 'win32').each<[NodeJS.Platform, string, string]>([
  ['linux', 'xdg-open', URL],
  ['freebsd', 'xdg-open', URL],
  ['darwin', 'open', URL],
  ['win32', 'rundll32', `url.dll,FileProtocolHandler ${URL}`],
])('opens a page in the browser of %s', async (system, program, args) => {
  await makeBrowser(program)
  vi.stubEnv('PATH', `${folder.path}:${process.env.PATH}`)
  for (const env of [{ BROWSER: '' }, {}]) {
    await openInBrowser(URL, createTestIo({ env }).io, system)
    await expect.poll(readOpened).toBe(`${args}\n`)
    await rm(folder.at('opened'))
  }
})

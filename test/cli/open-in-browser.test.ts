import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { platform } from 'node:process'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { openInBrowser } from '../../src/cli/output/open-in-browser.ts'
import { createTestIo } from './test-io.ts'

const URL = 'http://127.0.0.1:4010/_inspector'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-browser-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
})

/** Makes a program that writes down its arguments. */
async function makeBrowser(name: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `#!/bin/sh\necho "$@" > ${join(folder, 'opened')}\n`, { mode: 0o755 })
  return path
}
const readOpened = () => readFile(join(folder, 'opened'), 'utf8').catch(() => '')

it('opens a page in the browser that the environment names', async () => {
  const { io, written } = createTestIo({ env: { BROWSER: await makeBrowser('firefox') } })
  await openInBrowser(URL, io)
  expect(written.stderr).toBe(`opened ${URL}\n`)
  await expect.poll(readOpened).toBe(`${URL}\n`)
})

it.runIf(platform === 'linux').each<Record<string, string>>([{}, { BROWSER: '' }])(
  "opens a page in the system's browser: %j",
  async (env) => {
    await makeBrowser('xdg-open')
    vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    await openInBrowser(URL, createTestIo({ env }).io)
    await expect.poll(readOpened).toBe(`${URL}\n`)
  },
)

it('names the page if there is no browser', async () => {
  const { io, written } = createTestIo({ env: { BROWSER: join(folder, 'none') } })
  await expect(openInBrowser(URL, io)).rejects.toThrow(`no browser could be started; open ${URL}`)
  expect(written.stderr).toBe('')
})

import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'
import { APP, serve } from './serve.ts'

let folder: string
beforeEach(() => {
  folder = makeTestFolder()
})
const inFolder = (name: string) => join(folder, name)

describe('postern webhooks ensure', () => {
  const ensure = ['webhooks', 'ensure', '--url', APP, '--events', 'contact.*']

  it('gives up in time if another run holds the lock, and registers nothing', { timeout: 60_000 }, async () => {
    const { crm, run } = await serve()
    const lock = inFolder('crm.secret.lock')
    await writeFile(lock, '')
    // Behaves like the holder: a lock that was removed does not come back.
    const beat = setInterval(() => utimes(lock, new Date(), new Date()).catch(() => {}), 100)
    onTestFinished(() => clearInterval(beat))
    const { code, stderr } = await run(...ensure, '--secret-file', inFolder('crm.secret'))
    expect([code, stderr]).toEqual([5, expect.stringContaining('Another run is using')])
    expect(crm.webhooks.list()).toEqual([])
  })

  it('takes over the lock of a run that was killed', { timeout: 30_000 }, async () => {
    const { crm, run } = await serve()
    await writeFile(inFolder('crm.secret.lock'), '')
    const { code, stderr } = await run(...ensure, '--secret-file', inFolder('crm.secret'))
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('waiting for another run that is using')
    expect(crm.webhooks.list()).toHaveLength(1)
  })
})

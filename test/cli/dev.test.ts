import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createReceiver } from 'postern'
import { nodeHandler } from 'postern/node'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { recordDeliveries } from './recording-server.ts'
import { type RunningCli, readLines, runCli, startCli } from './run-cli.ts'

const NO_ENV = { env: {} }
const ANY_PORT = ['--port', '0']

let folder: string
beforeEach(() => {
  folder = makeTestFolder()
})

/** Starts `postern dev`, and ends it with the test. */
async function startDev(
  args: readonly string[],
  setting: Parameters<typeof startCli>[1] = NO_ENV,
): Promise<RunningCli> {
  const dev = startCli(['dev', ...(args.includes('--port') ? args : [...ANY_PORT, ...args])], setting)
  onTestFinished(async () => {
    dev.interrupt()
    await dev.exitCode
  })
  await dev.until(/^(try {8}|\{"type":"ready")/m)
  return dev
}

const urlOf = ({ stdout, stderr }: RunningCli) =>
  /http:\/\/127\.0\.0\.1:\d+(?=["\s].*(?:account|webhook))/.exec(stderr + stdout)?.[0] ?? ''
const triggerAt = (dev: RunningCli, ...args: readonly string[]) =>
  runCli(['trigger', ...args, '--emulator', urlOf(dev)], NO_ENV)

/** A receiver of this package with the secret of an env file, whose handler fails the given number of times. */
async function startReceiver(envFile: string, failures = 0) {
  const handled: string[] = []
  let left = failures
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const secret = async () => /^WEBHOOK_SECRET=(.*)$/m.exec(await readFile(envFile, 'utf8'))?.[1]
  const receiver = createReceiver({ secret, logger }).on('*', ({ id }) => {
    if (left-- > 0) throw new Error('down')
    handled.push(id)
  })
  const { port, close } = await listen(createServer(nodeHandler(receiver)))
  onTestFinished(close)
  return { url: `http://127.0.0.1:${port}/hooks`, handled }
}

describe('postern dev', () => {
  it("prints the inspector's URL, and opens it with o", async () => {
    const browser = join(folder, 'browser.sh')
    await writeFile(browser, `#!/bin/sh\necho "$@" > ${join(folder, 'opened')}\n`, { mode: 0o755 })
    const dev = await startDev(['--forward', 'http://127.0.0.1:9/hooks'], { env: { BROWSER: browser } })
    const url = `${urlOf(dev)}/_inspector`
    expect(dev.stderr).toContain(`\ninspector  ${url}\n`)
    expect((await fetch(url)).headers.get('content-type')).toMatch(/^text\/html/)
    dev.press('o')
    await dev.until(/^opened /m)
    await expect.poll(() => readFile(join(folder, 'opened'), 'utf8').catch(() => '')).toBe(`${url}\n`)
  })

  it('saves the secret, delivers to the app, and ends with a summary', async () => {
    const env = join(folder, '.env.local')
    const { url, handled } = await startReceiver(env)
    const dev = await startDev(['--forward', url, '--env', env])
    expect((await stat(env)).mode & 0o777).toBe(0o600)
    expect(await readFile(env, 'utf8')).toMatch(/^WEBHOOK_SECRET=whsec_\S+\n$/)
    expect(dev.stderr).toMatch(/^emulator {3}http:\/\/127\.0\.0\.1:\d+ {3}account acme \(ada@acme\.test, password\)$/m)
    expect(dev.stderr).toContain(`receiver   ${url}   something listens there\n`)
    expect(dev.stderr).toContain(`secret     written in ${env} as WEBHOOK_SECRET: your app has to be started with it\n`)
    expect(dev.stderr).not.toContain('whsec_')
    const { code, stdout } = await triggerAt(
      dev,
      'contact.created',
      '--set',
      'data.record.email=new@example.test',
      '--watch',
    )
    expect([code, handled.length]).toEqual([0, 1])
    expect(stdout).toMatch(
      new RegExp(`^\\d\\d:\\d\\d:\\d\\d  contact\\.created +${handled[0]}  1/5 +200 +\\d+ ms  handled\\n$`),
    )
    dev.interrupt()
    expect(await dev.exitCode).toBe(130)
    expect(dev.stdout).toBe(stdout)
    expect(dev.stderr).toMatch(/1 delivery, 1 attempt: 1 acknowledged, 0 failed, 0 pending\n$/)
  })

  it.each([['the secret of the app', 'A=1\nWEBHOOK_SECRET="mine"\n', /^A=1\nWEBHOOK_SECRET="mine"\n$/]])(
    'keeps what an env file has: %s',
    async (_what, before, after) => {
      const env = join(folder, '.env')
      await writeFile(env, before, { mode: 0o644 })
      const dev = await startDev(['--forward', 'http://127.0.0.1:9/', '--env', env, '--json', '--show-secrets'])
      const text = await readFile(env, 'utf8')
      expect(text).toMatch(after)
      const [ready] = readLines(dev.stdout)
      expect(ready).toMatchObject({ webhook: { secret: /^WEBHOOK_SECRET="?([^"\n]*)"?$/m.exec(text)?.[1] } })
    },
  )

  it('uses the secret of the environment or of a file, and shows a generated one once', async () => {
    const forward = ['--forward', 'http://127.0.0.1:9/', '--json']
    const given = await startDev([...forward, '--show-secrets'], { env: { WEBHOOK_SECRET: 'mine' } })
    expect(readLines(given.stdout)).toMatchObject([{ webhook: { secret: 'mine' } }])
    const masked = await startDev(forward, { env: { WEBHOOK_SECRET: 'mine' } })
    expect(readLines(masked.stdout)).toMatchObject([{ type: 'ready', webhook: { secret: '***' } }])
    expect(masked.stdout + masked.stderr).not.toContain('mine')
    const own = await startDev(forward.slice(0, 2))
    expect(own.stderr).toMatch(/^secret {5}whsec_\S+ {3}give it to your app as WEBHOOK_SECRET/m)
  })

  it('obeys keys, and ends at q', async () => {
    const { received, url } = await recordDeliveries((_request, count) => (count === 1 ? 503 : 200))
    const dev = await startDev(['--forward', url, '--clock', 'manual'])
    expect(dev.stderr).toContain(
      'keys       t trigger contact.created, r retry what failed last, o open the inspector, n next attempt, h these keys, q quit\n',
    )
    dev.press('t')
    await dev.until(/1\/5 +503 .*next in 30 s\n/)
    const watch = await triggerAt(dev, 'contact.deleted', '--watch')
    expect(watch.code).toBe(0)
    dev.press('n')
    await dev.until(/2\/5 +200/)
    dev.press('q')
    expect(await dev.exitCode).toBe(0)
    expect(received.map(({ event }) => event.type)).toEqual(['contact.created', 'contact.deleted', 'contact.created'])
  })

  it('retries the last failure at the key r, and lists the keys at h', async () => {
    const { received, url } = await recordDeliveries((_request, count) => (count <= 2 ? 503 : 200))
    const dev = await startDev(['--forward', url])
    const keys =
      'keys       t trigger contact.created, r retry what failed last, o open the inspector, h these keys, q quit\n'
    expect(dev.stderr).toContain(keys)
    dev.press('r')
    await dev.until(/^no delivery has failed$/m)
    dev.press('h')
    expect(dev.stderr.split(keys)).toHaveLength(3)
    dev.press('t')
    await dev.until(/1\/5 +503 .*next in 30 s\n/)
    // Pressed half a minute before the next attempt is due. The retry is a separate delivery, which fails for good, and the next key
    // retries that one.
    dev.press('r')
    await dev.until(/1\/5 +503 .*failed, no attempt is left\n/)
    dev.press('r')
    await dev.until(/2\/5 +200/)
    dev.press('r')
    await dev.until(/(no delivery has failed\n[\s\S]*){2}/)
    dev.press('n')
    dev.press('q')
    expect(await dev.exitCode).toBe(0)
    expect(new Set(received.map(({ event }) => event.id)).size).toBe(1)
    expect(received).toHaveLength(3)
  })

  it.each([
    ['no receiver', [], 2, /--forward/],
    ['a receiver elsewhere', ['--forward', 'https://hooks.example.test/'], 2, /add --yes/],
    [
      'a misspelt type',
      ['--forward', 'http://127.0.0.1:9/', '--events', 'contcat.*'],
      2,
      /Did you mean contact\.created/,
    ],
    [
      'a secret in place of its name',
      ['--forward', 'http://127.0.0.1:9/', '--secret-env', 'whsec_a-b'],
      2,
      /name of a variable/,
    ],
    [
      'a data file in no folder',
      ['--forward', 'http://127.0.0.1:9/', '--data', '/nowhere/x.db'],
      3,
      /cannot be written/,
    ],
    [
      'an env file in no folder',
      ['--forward', 'http://127.0.0.1:9/', '--env', '/nowhere/.env'],
      2,
      /cannot be written/,
    ],
  ])('refuses %s', async (_what, args, code, message) => {
    const result = await runCli(['dev', ...ANY_PORT, ...args], NO_ENV)
    expect(result).toEqual({ code, stdout: '', stderr: expect.stringMatching(message) })
  })
})

import { readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createReceiver } from 'postern'
import { nodeHandler } from 'postern/node'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { useFolder } from './folder.ts'
import { recordDeliveries } from './recording-server.ts'
import { ended, type RunningCli, readLines, runCli, startCli } from './run-cli.ts'
import type { IoSetting } from './test-io.ts'

const NO_ENV = { env: {} }

const folder = useFolder()

/** Starts `postern dev`, and ends it with the test. */
async function startDev(args: readonly string[], setting: IoSetting = NO_ENV): Promise<RunningCli> {
  const dev = startCli(['dev', '--port', '0', ...args], setting)
  onTestFinished(async () => {
    dev.interrupt()
    await dev.exitCode
  })
  await dev.until(/^(try {8}|\{"type":"ready")/m)
  return dev
}

const urlOf = ({ stdout, stderr }: RunningCli) =>
  /http:\/\/127\.0\.0\.1:\d+(?=["\s].*(?:account|webhook))/.exec(stderr + stdout)?.[0] ?? ''
const triggerAt = (dev: RunningCli, args: string) => runCli(`trigger ${args} --emulator ${urlOf(dev)}`, NO_ENV)

/** A receiver of this package with the secret of an env file, whose handler fails the given number of times. */
async function startReceiver(envFile: string, failures = 0) {
  const handled: string[] = []
  let left = failures
  const secret = async () => /^WEBHOOK_SECRET=(.*)$/m.exec(await readFile(envFile, 'utf8'))?.[1]
  const receiver = createReceiver({ secret, logger: silentLogger }).on('*', ({ id }) => {
    if (left-- > 0) throw new Error('down')
    handled.push(id)
  })
  const { port, close } = await listen(createServer(nodeHandler(receiver)))
  onTestFinished(close)
  return { url: `http://127.0.0.1:${port}/hooks`, handled }
}

describe('postern dev', () => {
  it("prints the inspector's URL, and opens it with o", async () => {
    const dev = await startDev(['--forward', 'http://127.0.0.1:9/hooks'], { env: { BROWSER: folder.at('none') } })
    const url = `${urlOf(dev)}/_inspector`
    expect(dev.stderr).toContain(`\ninspector  ${url}\n`)
    expect((await fetch(url)).headers.get('content-type')).toMatch(/^text\/html/)
    dev.press('o')
    await dev.until(new RegExp(`^no browser could be started; open ${url}$`, 'm'))
  })

  it('saves the secret, delivers to the app, and ends with a summary', async () => {
    const env = folder.at('.env.local')
    const { url, handled } = await startReceiver(env)
    const dev = await startDev(['--forward', url, '--env', env])
    expect((await stat(env)).mode & 0o777).toBe(0o600)
    expect(await readFile(env, 'utf8')).toMatch(/^WEBHOOK_SECRET=whsec_\S+\nPOSTERN_DEV=[\w-]{24}\n$/)
    expect(dev.stderr).toMatch(/^emulator {3}http:\/\/127\.0\.0\.1:\d+ {3}account acme \(ada@acme\.test, password\)$/m)
    expect(dev.stderr).toContain(`receiver   ${url}\n`)
    expect(dev.stderr).toContain(`secret     written in ${env} as WEBHOOK_SECRET: your app has to be started with it\n`)
    expect(dev.stderr).not.toContain('whsec_')
    const { code, stdout } = await triggerAt(dev, 'contact.created --watch')
    expect([code, handled.length]).toEqual([0, 1])
    expect(stdout).toMatch(
      new RegExp(`^\\d\\d:\\d\\d:\\d\\d  contact\\.created +${handled[0]}  1/5 +200 +\\d+ ms  handled\\n$`),
    )
    dev.interrupt()
    expect(await dev.exitCode).toBe(130)
    expect(dev.stdout).toBe(stdout)
    expect(dev.stderr).toMatch(/1 delivery, 1 attempt: 1 acknowledged, 0 failed, 0 pending\n$/)
  })

  it('masks the secret for programs', async () => {
    const args = ['--forward', 'http://127.0.0.1:9/', '--json']
    const masked = await startDev(args, { env: { WEBHOOK_SECRET: 'mine' } })
    expect(readLines(masked.stdout)).toMatchObject([{ type: 'ready', webhook: { secret: '***' } }])
    expect(masked.stdout + masked.stderr).not.toContain('mine')
  })

  it('obeys keys, and ends at q', async () => {
    const { received, url } = await recordDeliveries((_request, count) => (count === 1 ? 503 : 200))
    const dev = await startDev(['--forward', url, '--clock', 'manual'])
    expect(dev.stderr).toContain(
      'keys       t trigger contact.created, r retry what failed last, o open the inspector, n next attempt, h these keys, q quit\n',
    )
    dev.press('t')
    await dev.until(/1\/5 +503 .*next in 30 s\n/)
    const watch = await triggerAt(dev, 'contact.deleted --watch')
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
    ['no receiver', '', /--forward/],
    ['an env file in no folder', ' --forward http://127.0.0.1:9/ --env /nowhere/.env', /cannot be written/],
  ])('refuses %s', async (_what, args, message) => {
    expect(await runCli(`dev --port 0${args}`, NO_ENV)).toEqual(ended(2, message))
  })
})

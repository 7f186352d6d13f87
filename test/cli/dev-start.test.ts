import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isLateToClose } from '../adapters/stores/sqlite/folder.ts'
import { findFreePort } from '../support/programs.ts'
import { useFolder } from './folder.ts'
import { makeDeadLetters } from './make-dead-letters.ts'
import { recordDeliveries } from './recording-server.ts'
import { ended, readLines, runCli, startCli } from './run-cli.ts'
import { ADA } from './serve.ts'
import type { IoSetting } from './test-io.ts'

const NOWHERE = ['--forward', 'http://127.0.0.1:9/']

const folder = useFolder()

/** Returns what `postern dev` prints until it waits for deliveries. */
async function readStart(args: readonly string[], setting: IoSetting = {}) {
  const dev = startCli(['dev', '--port', '0', ...args], { env: {}, ...setting })
  await dev.until(/^(try .*\n|\{"type":"ready".*\n)/m)
  dev.interrupt()
  expect(await dev.exitCode).toBe(130)
  return dev
}

/** Reads the webhook that `postern dev` registers. */
async function readWebhook(args: readonly string[], setting?: IoSetting) {
  const [ready] = readLines((await readStart([...args, '--json', '--show-secrets'], setting)).stdout)
  return Object(ready?.webhook)
}

describe('the start of postern dev', () => {
  it('tells the origin of the secret', async () => {
    const file = folder.at('secret')
    const env = folder.at('.env')
    await folder.write('secret', 'from a file\n')
    await folder.write('.env', 'CRM_SECRET=mine\n')
    expect(await readWebhook([...NOWHERE, '--env', env, '--secret-env', 'CRM_SECRET'])).toMatchObject({
      secret: 'mine',
    })
    const tell = async (args: readonly string[], setting?: IoSetting) =>
      /^secret +(.*)$/m.exec((await readStart([...NOWHERE, ...args], setting)).stderr)?.[1]
    const inFile = `the one in ${env} as CRM_SECRET: your app has to be started with it`
    expect(await tell(['--env', env, '--secret-env', 'CRM_SECRET'])).toBe(inFile)
    expect(await tell(['--secret-env', 'CRM_SECRET'], { env: { CRM_SECRET: 'mine' } })).toBe('the one that was given')
    expect(await tell(['--secret-env', 'CRM_SECRET'], { env: { CRM_SECRET: '' } })).toMatch(/^whsec_\S+ {3}give it to /)
    for (const options of [['--secret-file', file], ['--secret-stdin'], ['--secret-file', file, '--env', env]])
      expect(await tell(options, { stdin: 'from a pipe' })).toBe('the one that was given')
    const another = await runCli(['dev', ...NOWHERE, '--secret-file', file, '--env', env, '--secret-env', 'CRM_SECRET'])
    expect(another).toEqual(ended(2, `CRM_SECRET in ${env} is another secret than the one that was given.`))
    expect(await folder.read('.env')).toMatch(/^CRM_SECRET=mine\nPOSTERN_DEV=[\w-]{24}\n$/)
  })

  it('names the events, the account and the emulator to trigger at', async () => {
    const { stderr } = await readStart([...NOWHERE, '--events', 'contact.created,lead.*'])
    expect(stderr).toMatch(/^webhook {4}\w+ active {3}contact\.created, lead\.\*\n/m)
    expect(stderr).toMatch(/^emulator {3}(\S+) {3}account acme [\s\S]*^try .* --watch --emulator \1$/m)
    expect((await readStart(NOWHERE)).stderr).toMatch(/^webhook {4}\w+ active {3}all that the service names\n/m)
  })

  it('does nothing at a key that it does not list, such as n while the clock runs by itself', async () => {
    const dev = startCli(['dev', '--port', '0', ...NOWHERE], { env: {} })
    await dev.until(/^keys /m)
    await setImmediate() // it listens once it has printed them
    for (const key of ['n', 'x', 'q']) dev.press(key)
    expect(await dev.exitCode).toBe(0)
    expect(dev.stderr).toMatch(/\ntry [^\n]*\nkeys [^\n]*\n0 deliveries, 0 attempts: [^\n]*\n$/)
  })

  it('delivers to a host that is not this machine only with --yes', async () => {
    const forward = ['--forward', 'https://hooks.example.test/']
    expect(await readWebhook([...forward, '--yes'])).toMatchObject({ url: 'https://hooks.example.test/' })
  })

  it('does not deliver to itself', async () => {
    const port = String(await findFreePort())
    const dev = ['dev', '--port', port, '--forward', `http://localhost:${port}/webhooks`]
    expect(await runCli(dev, { env: {} })).toEqual(ended(2, `port ${port}, where the emulator itself listens`))
  })

  it('names all options that a container of another name takes, and delivers there with them', async () => {
    const forward = ['--forward', 'http://app:3000/webhooks']
    const remedy = '--yes --assume urlRule=any'
    expect(await runCli(['dev', '--port', '0', ...forward], { env: {} })).toEqual(ended(2, `add ${remedy}.`))
    expect(await readWebhook([...forward, ...remedy.split(' ')])).toMatchObject({ url: 'http://app:3000/webhooks' })
  })

  it('subscribes to types that the service does not name only with --any-type', async () => {
    const events = ['--events', 'moon.risen']
    expect((await runCli(['dev', '--port', '0', ...NOWHERE, ...events], { env: {} })).code).toBe(2)
    expect(await readWebhook([...NOWHERE, ...events, '--any-type'])).toMatchObject({ events: ['moon.risen'] })
  })
})

describe('the key r of postern dev', () => {
  it.each([
    ['the second event', ['t', 'n', 't', 'n'], 2],
    ['the first event, whose third attempt came later', ['t', 'n', 't', 'n', 'n'], 0],
  ])('retries what failed last: %s', async (_what, keys, retried) => {
    const { received, url } = await recordDeliveries(() => 503)
    const dev = startCli(['dev', '--port', '0', '--forward', url, '--clock', 'manual'], { env: {} })
    onTestFinished(async () => {
      dev.interrupt()
      await dev.exitCode
    })
    await dev.until(/^keys /m)
    await setImmediate() // it listens once it has printed them
    const press = async (key: string) => {
      const attempts = received.length
      dev.press(key)
      await expect.poll(() => dev.stdout.match(/ 503 /g)?.length, { interval: 5 }).toBe(attempts + 1)
    }
    for (const key of [...keys, 'r']) await press(key)
    const ids = received.map(({ event }) => event.id)
    expect(ids.at(-1)).toBe(ids[retried])
    expect(new Set(ids).size).toBe(2)
  })
})

describe.skipIf(isLateToClose)('postern dev with a data file', () => {
  it('keeps its webhook of the last time, with the events of this time', async () => {
    const data = [...NOWHERE, '--data', folder.at('dev.db')]
    const first = await readWebhook([...data, '--events', 'contact.created'])
    const second = await readWebhook([...data, '--events', 'sync.failed'])
    expect(second).toEqual({ ...first, events: ['sync.failed'] })
    const env = { WEBHOOK_SECRET: first.secret }
    expect(await readWebhook([...data, '--events', 'sync.failed'], { env })).toEqual(second)
  })

  it('replaces its webhook if the app has another secret, and leaves those of other receivers alone', async () => {
    const file = folder.at('dev.db')
    const other = await readWebhook(['--forward', 'http://127.0.0.1:9/other', '--data', file])
    const first = await readWebhook([...NOWHERE, '--data', file])
    const env = { WEBHOOK_SECRET: 'of the app' }
    const second = await readWebhook([...NOWHERE, '--data', file], { env })
    expect(second).toMatchObject({ secret: 'of the app' })
    expect(second.id).not.toBe(first.id)
    expect((await readWebhook([...NOWHERE, '--data', file])).id).toBe(second.id)
    expect((await readWebhook(['--forward', 'http://127.0.0.1:9/other', '--data', file])).id).toBe(other.id)
  })

  it('names the webhook of an earlier run, which delivers to another URL', async () => {
    const data = ['--data', folder.at('dev.db')]
    const { id } = await readWebhook(['--forward', 'http://127.0.0.1:9/other', ...data])
    const { stderr } = await readStart([...NOWHERE, ...data])
    expect(stderr).toMatch(
      new RegExp(`^Webhook ${id} of an earlier run also delivers, to http://127.0.0.1:9/other. Delete it at http`, 'm'),
    )
    expect((await readStart([...NOWHERE, '--data', folder.at('new.db')])).stderr).not.toContain('earlier run')
  })

  it("leaves an app's own webhook of the same URL alone", async () => {
    const args = [...NOWHERE, '--data', folder.at('dev.db')]
    const dev = startCli(['dev', '--port', '0', ...args, '--json'], { env: {} })
    await dev.until(/"ready"/)
    const url = String(readLines(dev.stdout)[0]?.url)
    const service = { ...ADA, POSTERN_BASE_URL: url }
    const create = 'webhooks create --url http://127.0.0.1:9/ --events contact.created --json --secret-file'
    const created = await runCli(`${create} ${folder.at('own')}`, { env: service })
    expect(created.code, created.stderr).toBe(0)
    dev.interrupt()
    await dev.exitCode
    const env = { WEBHOOK_SECRET: 'of the app' }
    const again = startCli(['dev', '--port', '0', ...args, '--json'], { env })
    await again.until(/"ready"/)
    const there = { ...service, POSTERN_BASE_URL: String(readLines(again.stdout)[0]?.url) }
    const list = await runCli('webhooks list --json', { env: there })
    again.interrupt()
    await again.exitCode
    expect(readLines(list.stdout).map(({ id }) => id)).toContain(readLines(created.stdout)[0]?.id)
  })
})

describe('postern dev --inbox', () => {
  it('prints whether the inbox is there, or not yet', async () => {
    const file = folder.at('app.db')
    const start = async () => (await readStart([...NOWHERE, '--inbox', `sqlite:${file}`])).stderr
    expect(await start()).toMatch(/^inbox +sqlite .*app\.db {3}not there yet: .*app\.db does not exist/m)
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    expect(await start()).toMatch(/^inbox +sqlite .*app\.db {3}0 waiting, 0 running, 1 dead$/m)
  })
})

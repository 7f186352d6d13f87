import { createServer } from 'node:http'
import { createReceiver, sign } from 'postern'
import { type CheckOptions, checkReceiver } from 'postern/check'
import { nodeHandler } from 'postern/node'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { SECRET } from '../check/faulty/hand-written.ts'
import { useFolder } from './folder.ts'
import { ended, runCli, startCli } from './run-cli.ts'

const NAME = 'X-Crm-Signature'
const BODY = '{"id": "evt_1", "type": "contact.created"}'
const RIGHT = { code: 0, stdout: '', stderr: 'the signature is right\n' }

const folder = useFolder()

/** Starts an app whose installation of the service signs in this header. */
async function startApp(signatureHeader = NAME): Promise<string> {
  const receiver = createReceiver({ secret: SECRET, signatureHeader, logger: silentLogger }).on('*', () => {})
  const { port, close } = await listen(createServer(nodeHandler(receiver)))
  onTestFinished(close)
  return `http://127.0.0.1:${port}/webhooks`
}

describe('an app that reads another signature header', () => {
  it('is developed with postern dev, and finds its deliveries there', async () => {
    const dev = startCli(['dev', '--port', '0', '--forward', await startApp(), '--signature-header', NAME])
    await dev.until(/^try /m)
    expect(dev.stderr).toContain(`\nheader     ${NAME}   your app names it as signatureHeader\n`)
    const [, emulator = ''] = /^emulator +(\S+)/m.exec(dev.stderr) ?? []
    const { code, stdout } = await runCli(['trigger', 'contact.created', '--watch', '--emulator', emulator])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/ 1\/5 +200 .* handled\n$/)])
    dev.interrupt()
    expect(await dev.exitCode).toBe(130)
  })

  it('passes every check of postern check, which names its header', async () => {
    const url = await startApp()
    const { code, stdout } = await runCli(['check', url, '--signature-header', NAME, '--json', '-'])
    const { checks, summary } = JSON.parse(stdout)
    expect([code, summary]).toMatchObject([0, { fail: 0, warn: 0 }])
    expect(stdout).not.toMatch(/x-service-signature/i)
    const told = JSON.stringify(checks.filter(({ sent }: { sent: string }) => /x-crm-signature/i.test(sent)))
    expect(told).toContain('An event with its signature in x-crm-signature, in lower case.')
    expect(told).toContain(`An event without ${NAME}.`)
    expect(told).toContain(`--only signature-right-first --signature-header ${NAME}`)
    expect(told).toContain(`-H \\"x-crm-signature: $(`)
    const page = await runCli(['check', '--explain', 'signature-missing', '--signature-header', NAME])
    expect(page.stdout).toContain(`An event without ${NAME}.`)
  })

  it.each<[what: string, reads: string, options: Partial<CheckOptions>, text: RegExp]>([
    ['its name, though none was given', NAME, {}, /Read X-Service-Signature; if your service calls it otherwise, pass/],
    ['the default, though another is given', 'X-Service-Signature', { signatureHeader: NAME }, /Read X-Crm-Signature;/],
    ['that of another service', 'X-Hub-Signature-256', { signatureHeader: NAME }, /Read X-Crm-Signature;/],
  ])('is diagnosed if it reads %s', async (_what, reads, options, text) => {
    const only = ['accepts-valid']
    const { diagnosis } = await checkReceiver(await startApp(reads), { secret: SECRET, only, ...options })
    expect(diagnosis).toMatchObject({ code: 'other_header', text: expect.stringMatching(text) })
  })

  it('may read a name that no other service uses, which the diagnosis asks about', async () => {
    const { stdout } = await runCli(['check', await startApp('X-Own'), '--signature-header', NAME, '--only', 'reach'])
    expect(stdout).toContain(`read another header than ${NAME} (pass its name as signature header)`)
  })

  it('gets events of postern trigger', async () => {
    const args = ['trigger', 'contact.created', '--to', await startApp()]
    expect((await runCli([...args, '--signature-header', NAME])).stdout).toContain(' handled\n')
    expect((await runCli(args)).stdout).toContain(' 401 ')
  })

  it('accepts the files of postern fixtures, and postern verify reads them', async () => {
    expect((await runCli(['fixtures', '--out', folder.path, '--signature-header', NAME])).code).toBe(0)
    const [type = '', header = ''] = (await folder.read('sync.failed.headers')).split('\n')
    expect([type, header]).toEqual(['Content-Type: application/json', expect.stringMatching(`^${NAME}: sha256=`)])
    const file = folder.at('sync.failed.json')
    const verify = (...args: readonly string[]) => runCli(['verify', ...args, '--signature-header', NAME])
    expect(await verify(file, '--header', header)).toEqual(RIGHT)
    const answer = await fetch(await startApp(), {
      method: 'POST',
      headers: { [NAME]: header.replace(/^.*: /, '') },
      body: await folder.read('sync.failed.json'),
    })
    expect(answer.status).toBe(200)
    const delivery = { headers: { 'x-crm-signature': sign(BODY, SECRET), 'X-Service-Signature': 'x' }, body: BODY }
    expect(await verify('--delivery', JSON.stringify(delivery))).toEqual(RIGHT)
    const other = { headers: { 'x-other': sign(BODY, SECRET) }, body: BODY }
    expect(await verify('--delivery', JSON.stringify(other))).toEqual(ended(1, 'has another name (--signature-header)'))
  })
})

describe('--signature-header', () => {
  it.each(
    ['dev --forward http://127.0.0.1:9/', 'emulator', 'trigger contact.created', 'verify --header x'].concat([
      'fixtures --out /nowhere',
      'check http://127.0.0.1:9/',
    ]),
  )('is refused by postern %s if it is no name', async (line) => {
    const message =
      /--signature-header: .*"X Crm"; give the name of a header that has no other meaning, such as 'X-Crm-Signature'/
    expect(await runCli([...line.split(' '), '--signature-header', 'X Crm'])).toEqual(ended(2, message))
  })

  it('is refused by postern trigger without --to: the emulator signs', async () => {
    const refused = await runCli(['trigger', 'contact.created', '--signature-header', NAME])
    expect(refused).toEqual(ended(2, '--signature-header is for --to: an emulator is started with it'))
  })
})

import { stat } from 'node:fs/promises'
import { Command } from 'commander'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  addEmulatorOptions,
  openEmulator,
  readLatency,
  readPort,
  readShare,
} from '../../tools/cli/input/emulator-options.ts'
import { isLateToClose } from '../adapters/stores/sqlite/folder.ts'
import { useFolder } from './folder.ts'
import { recordDeliveries } from './recording-server.ts'
import { createTestIo } from './test-io.ts'

const folder = useFolder()

describe('an option of the emulator', () => {
  it.each<[string, (value: string) => unknown, string, unknown]>([
    ['a port', readPort, '0', 0],
    ['a port', readPort, '65535', 65_535],
    ['a share', readShare, '0', 0],
    ['a share', readShare, '1', 1],
    ['a share', readShare, '.25', 0.25],
    ['a latency', readLatency, '200ms', '200ms'],
    ['a latency', readLatency, '50-500ms', ['50ms', '500ms']],
    ['a latency', readLatency, '0.5-1.5m', ['0.5m', '1.5m']],
    ['a latency', readLatency, '1m30s-2m', ['1m30s', '2m']],
  ])('is read as %s: %#', (_what, readValue, text, value) => {
    expect(readValue(text)).toEqual(value)
  })

  it.each<[string, (value: string) => unknown, readonly string[], string]>([
    ['a port', readPort, ['65536', '-1', '1.5', '999999', 'x1', '1x', ''], 'a number up to 65535'],
    [
      'a latency',
      readLatency,
      ['50', '50-500', '50-5msx', 'x5-50ms', '1s-2s-3s', '-1s', '1s-', '', '500-50ms'],
      'or two',
    ],
    ['a share', readShare, ['1.1', '-0', '1.', 'x.5', '0.5x', ''], 'a number from 0 to 1'],
  ])('is refused as %s: %#', (_what, readValue, texts, message) => {
    for (const text of texts) expect(() => readValue(text), text).toThrow(message)
  })
})

/** Starts an emulator by these arguments, on any port. */
async function open(...args: readonly string[]) {
  const command = addEmulatorOptions(new Command().exitOverride())
  const { io, written } = createTestIo()
  const emulator = await openEmulator(command.parse(['--port', '0', ...args], { from: 'user' }).opts(), io)
  onTestFinished(() => emulator.close())
  const answer = await emulator.fetch(new Request('http://127.0.0.1/_emulator/state'))
  return { emulator, written, state: Object(await answer.json()) }
}

describe('an emulator of the command line', () => {
  it('has the settings of its options', async () => {
    const { emulator, state } = await open(
      ...[...'--retry-scale 600 --clock manual --deadline 1s --token-ttl 60s --rate-limit 5/1s'.split(' ')],
      ...['--assume', 'listBody=items', '--assume', 'A02=200', '--account', 'umbrella:eve@umbrella.test:pass:word'],
      ...['--fail', '0.5', '--duplicate', '0.25', '--shuffle', '--latency', '50-500ms'],
      ...['--signature-header', 'X-Crm-Signature', '--inbox', `sqlite:${folder.at('app.db')}`],
    )
    expect(state).toMatchObject({
      clock: { isManual: true },
      accounts: [{ key: 'acme' }, { key: 'globex' }, { key: 'umbrella', email: 'eve@umbrella.test' }],
      faults: { deliveries: { fail: 0.5, duplicate: 0.25, shuffle: true, latencyMs: [50, 500] } },
      settings: { retryScale: 600, deadlineMs: 1_000, signatureHeader: 'X-Crm-Signature' },
      assumed: { listBody: 'items', creationStatus: '200' },
      hasInbox: true,
    })
    const call = (path: string, init: RequestInit) => emulator.fetch(new Request(`http://127.0.0.1/api/${path}`, init))
    const login = await call('identity/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'eve@umbrella.test', password: 'pass:word' }),
    })
    const { accessToken, expiresIn } = Object(await login.json())
    const listed = await call('integrations/webhooks', { headers: { authorization: `Bearer ${accessToken}` } })
    expect([expiresIn, listed.headers.get('x-ratelimit-limit')]).toEqual([60, '5'])
  })

  it.each([
    [[], 8, undefined],
    [['--ordered', '--debug-headers'], 1, '1'],
  ])('sends eight attempts at a time, without its ids, unless told otherwise: %j', async (args, most, attempt) => {
    let running = 0
    let peak = 0
    const { received, url } = await recordDeliveries(async () => {
      peak = Math.max(peak, ++running)
      await new Promise((resolve) => setTimeout(resolve, peak < most ? 1_000 : 50)) // until all that may run do
      running--
      return 200
    })
    const { emulator } = await open(...args)
    emulator.webhooks.create({ url, events: ['sync.failed'] })
    for (let count = 0; count < 9; count++) emulator.events.emit({ type: 'sync.failed', id: `evt_${count}` })
    await expect.poll(() => received.length).toBe(9)
    expect(peak).toBe(most)
    expect(received[0]?.headers['x-emulator-attempt']).toBe(attempt)
  })

  it.skipIf(isLateToClose)('goes on from its file, which its owner alone can read', async () => {
    const file = folder.at('emulator.db')
    const first = await open('--data', file)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    first.emulator.records.create('contact', { email: 'zoe@example.test' })
    await first.emulator.close()
    const second = await open('--data', file)
    expect(second.emulator.records.list('contact')).toMatchObject([{ email: 'zoe@example.test' }])
  })

  it.each([
    [['--data', '/nowhere/at/all.db'], 3, '/nowhere/at/all.db cannot be written: ENOENT'],
    [['--data', ' '], 2, '--data takes the path of a file.'],
    [['--data', ':memory:'], 2, '--data takes the path of a file.'],
    [['--assume', 'listBody'], 2, '--assume listBody: write it as listBody=items, or A04=items.'],
    [['--assume', 'listBody='], 2, '--assume listBody=: write it as'],
    [['--assume', '1listBody=items'], 2, '--assume 1listBody=items: write it as'],
    [['--account', ':umbrella:eve@umbrella.test:x'], 2, '--account: write it as key:email:password.'],
    [['--account', 'umbrella:eve@umbrella.test:'], 2, '--account: write it as key:email:password.'],
  ])('is not started with %j', async (args, exitCode, message) => {
    await expect(open(...args)).rejects.toMatchObject({ exitCode, message: expect.stringContaining(message) })
  })

  it.skipIf(isLateToClose)('closes its file if it cannot start', async () => {
    const first = await open()
    const { port } = new URL(first.emulator.url)
    const file = folder.at('emulator.db')
    await expect(open('--data', file, '--port', port)).rejects.toMatchObject({ code: 'port_in_use' })
    await open('--data', file)
  })
})

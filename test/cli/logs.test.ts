import { describe, expect, it } from 'vitest'
import { start } from '../emulator/support.ts'
import { findFreePort } from '../support/programs.ts'
import { recordDeliveries } from './recording-server.ts'
import { readLines, runCli, startCli } from './run-cli.ts'

/** An emulator, and command lines that find it by the environment. */
async function serveEmulator(...options: Parameters<typeof start>) {
  const crm = await start(...options)
  const env = { POSTERN_BASE_URL: crm.url }
  return { crm, begin: (args: string[]) => startCli(args, { env }) }
}

describe('the address of the emulator', () => {
  it('is named, with its variable, if no emulator answers there', async () => {
    const url = `http://127.0.0.1:${await findFreePort()}`
    for (const line of ['logs', 'trigger contact.created']) {
      const { code, stdout, stderr } = await runCli(`${line} --json`, { env: { POSTERN_BASE_URL: url } })
      const message = `No emulator answers at ${url} (POSTERN_BASE_URL).`
      expect([code, stderr]).toEqual([3, expect.stringContaining(`${message} Start one in another terminal:\n`)])
      const fix = expect.stringContaining('npx postern dev --forward http://localhost:3000/webhooks')
      expect(readLines(stdout)).toEqual([{ error: { code: 'unreachable', message, fix } }])
    }
  })
})

describe('postern logs', () => {
  it('shows attempts as dev does, until Ctrl-C', async () => {
    const { url } = await recordDeliveries((_request, count) => (count === 1 ? 500 : 200))
    const { crm, begin } = await serveEmulator()
    crm.webhooks.create({ url, events: ['contact.created'] })
    const logs = begin(['logs'])
    await logs.until(/until Ctrl-C/)
    expect(logs.stderr).toBe(`attempts of the emulator at ${crm.url} from now on, until Ctrl-C
earlier ones: npx postern deliveries list, or ${crm.url}/_inspector\n`)
    crm.events.emit({ type: 'contact.created', id: 'evt_1' })
    await logs.until(/^\d\d:\d\d:\d\d {2}contact\.created +evt_1 +1\/5 +500 +\d+ ms {2}next in 30 s$/m)
    await crm.clock.next()
    await logs.until(/evt_1 +2\/5 +200 +\d+ ms$/m)
    crm.events.emit({ type: 'contact.created' })
    await logs.until(/1\/5 +200/)
    logs.interrupt()
    expect(await logs.exitCode).toBe(130)
    expect(logs.stderr).toMatch(/2 deliveries, 3 attempts: 2 acknowledged, 0 failed, 0 pending\n$/)
  })

  it('writes one object a line with --json, and ends with 3 when the emulator does', async () => {
    const { url } = await recordDeliveries(() => 500)
    const { crm, begin } = await serveEmulator()
    crm.webhooks.create({ url, events: ['contact.created'] })
    const logs = begin(['logs', '--json'])
    await logs.until(/"ready"/)
    crm.events.emit({ type: 'contact.created' })
    await logs.until(/"attempt"/)
    await crm.close()
    expect(await logs.exitCode).toBe(3)
    expect(readLines(logs.stdout)).toMatchObject([
      { type: 'ready', emulator: crm.url },
      { type: 'attempt', number: 1, status: 500, delivery: 'pending', nextAttemptAt: expect.stringMatching(/Z$/) },
      { type: 'summary', deliveries: 1, attempts: 1, succeeded: 0, failed: 0, pending: null },
      { error: { code: 'unreachable' } },
    ])
  })
})

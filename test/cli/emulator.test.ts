import { describe, expect, it } from 'vitest'
import { readLines, runCli, startCli } from './run-cli.ts'

const NO_ENV = { env: {} }
const ANY_PORT = ['--port', '0']

describe('postern emulator', () => {
  it('serves the API, and prints its URL on its first line', async () => {
    const emulator = startCli('emulator --port 0 --json --account umbrella:eve@umbrella.test:secret', NO_ENV)
    await emulator.until(/\n/)
    const [ready] = readLines(emulator.stdout)
    const url = String(ready?.url)
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(ready).toEqual({ type: 'ready', url, inspector: `${url}/_inspector` })
    const answer = await fetch(`${url}/api/identity/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'eve@umbrella.test', password: 'secret' }),
    })
    expect(await answer.json()).toMatchObject({ accessToken: expect.any(String), expiresIn: 3600 })
    const none = await runCli(['trigger', 'contact.created', '--emulator', url], NO_ENV)
    expect(none).toMatchObject({ code: 0, stderr: expect.stringContaining('The emulator has no webhook') })
    emulator.interrupt()
    expect(await emulator.exitCode).toBe(130)
    expect(readLines(emulator.stdout)).toMatchObject([{}, { type: 'summary', deliveries: 0 }])
  })

  it('tells people its address, who can log in, and at the end what it delivered', async () => {
    const emulator = startCli(['emulator', ...ANY_PORT, '--account', 'umbrella:eve@umbrella.test:secret'], NO_ENV)
    await emulator.until(/^inspector/m)
    const told =
      /^emulator {3}(http:\S+) {3}accounts acme \(ada@acme\.test\), .*umbrella \(eve@\S+\)\ninspector {2}\1\/_inspector\n$/
    expect(emulator.stderr).toMatch(told)
    emulator.interrupt()
    expect(await emulator.exitCode).toBe(130)
    expect(emulator.stderr).toMatch(/\n0 deliveries, .*0 pending\n$/)
    expect(emulator.stdout).toBe('')
  })

  it('ends if it is interrupted while it starts', async () => {
    expect(await runCli(['emulator', ...ANY_PORT], { interrupt: AbortSignal.abort() })).toMatchObject({ code: 130 })
  })

  it('lists all assumptions', async () => {
    const { code, stdout } = await runCli(['emulator', '--assumptions'], NO_ENV)
    expect(code).toBe(0)
    expect(stdout.match(/^A\d\d /gm)).toHaveLength(40)
    expect(stdout).toMatch(/^A02 {2}creationStatus {2}status of a creation\n {4}200 +200\n {2}\* 201 +201\n/m)
    const json = await runCli(['emulator', '--assumptions', '--json'], NO_ENV)
    expect(readLines(json.stdout)).toMatchObject([{ creationStatus: { id: 'A02', default: '201' } }])
  })
})

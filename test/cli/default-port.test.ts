// In a separate file: the tests that use the one port must not run concurrently.
import { createServer } from 'node:net'
import { startEmulator } from 'postern/emulator'
import { expect, it, onTestFinished } from 'vitest'
import { ended, runCli, startCli } from './run-cli.ts'

/** Listens on the port of the emulator until the test ends. */
async function takePort(): Promise<void> {
  const server = createServer()
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())))
  await new Promise<void>((resolve) => {
    server.on('error', () => resolve()) // another process has it, which is as good
    server.listen(4010, '127.0.0.1', resolve)
  })
}

it('dev uses the next port if its own is taken, and names it', async () => {
  await takePort()
  const dev = startCli(['dev', '--forward', 'http://127.0.0.1:9/'], { env: {} })
  await dev.until(/^try .*--emulator http:\/\/127\.0\.0\.1:40[1-3]\d$/m)
  dev.interrupt()
  expect(await dev.exitCode).toBe(130)
})

it('the service is an emulator on its usual port by default', async (context) => {
  const emulator = await startEmulator({ port: 4010 }).catch(() => undefined)
  if (emulator === undefined) return context.skip('port 4010 is taken')
  onTestFinished(() => emulator.close())
  const told =
    /^service: the emulator at http:\/\/127\.0\.0\.1:4010, account acme \(ada@acme\.test\)\nthe account has no /
  expect(await runCli('webhooks list', { env: {} })).toEqual(ended(0, told))
  // Credentials belong to some service, and not to this one.
  for (const env of [{ POSTERN_EMAIL: 'ada@acme.test' }, { POSTERN_PASSWORD: 'password' }])
    expect((await runCli(['webhooks', 'list'], { env })).code).toBe(2)
  await emulator.close()
  expect(await runCli('webhooks list', { env: {} })).toEqual(ended(2, 'The address of the service is not set.'))
})

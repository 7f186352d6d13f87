// In a separate file: the tests that use the one port must not run concurrently.
import { createServer } from 'node:net'
import { startEmulator } from 'postern/emulator'
import { expect, it, onTestFinished } from 'vitest'
import { runCli, startCli } from './run-cli.ts'

it('dev uses the next port if its own is taken, and names it', async () => {
  const taken = createServer().on('error', () => {}) // another process may have it, which is as good
  taken.listen(4010, '127.0.0.1')
  onTestFinished(() => new Promise((resolve) => taken.close(() => resolve())))
  const dev = startCli(['dev', '--forward', 'http://127.0.0.1:9/'], { env: {} })
  await dev.until(/^try .*--emulator http:\/\/127\.0\.0\.1:40[1-3]\d$/m)
  dev.interrupt()
  expect(await dev.exitCode).toBe(130)
})

it('the service is an emulator on its usual port by default', async (context) => {
  const emulator = await startEmulator({ port: 4010 }).catch(() => undefined)
  if (emulator === undefined) return context.skip('port 4010 is taken')
  onTestFinished(() => emulator.close())
  expect(await runCli(['webhooks', 'list'], { env: {} })).toEqual({
    code: 0,
    stdout: '',
    stderr:
      'service: the emulator at http://127.0.0.1:4010, account acme (ada@acme.test)\nthe account has no webhook\n',
  })
  await emulator.close()
  expect((await runCli(['webhooks', 'list'], { env: {} })).code).toBe(2)
})

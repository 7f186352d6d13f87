import { createClient } from 'postern/client'
import { silentLogger } from 'postern/testing'
import { expect, it } from 'vitest'
import { tellIfPaused } from '../../src/cli/service/tell-if-paused.ts'
import { ADA, serve } from './serve.ts'
import { createTestIo } from './test-io.ts'

it('tells why retries have no result only if their webhook is paused', async () => {
  const { crm, create } = await serve()
  const { id } = create()
  const { io, written, interrupt } = createTestIo()
  const account = { email: ADA.POSTERN_EMAIL, password: ADA.POSTERN_PASSWORD }
  const client = createClient({ baseUrl: crm.url, ...account, logger: silentLogger })
  const options = { emailEnv: 'POSTERN_EMAIL', passwordEnv: 'POSTERN_PASSWORD', retries: 5 }
  await tellIfPaused(client, id, options, io)
  expect(written.stderr).toBe('')
  crm.webhooks.pause(id)
  await tellIfPaused(client, id, options, io)
  expect(written.stderr).toBe(
    `webhook ${id} is paused, and holds back what is retried: postern webhooks resume ${id}\n`,
  )
  interrupt()
  await expect(tellIfPaused(client, id, options, io)).rejects.toBe(io.interrupt.reason)
})

import { describe, expect, it, onTestFinished } from 'vitest'
import { startWebhookService } from '../client/webhook-service.ts'
import { startCli } from './run-cli.ts'
import { ADA } from './serve.ts'

describe('postern deliveries list --follow', () => {
  it('follows a long log without reading it repeatedly', { timeout: 30_000 }, async () => {
    const service = await startWebhookService()
    onTestFinished(() => service.close())
    const id = service.add()._id
    for (let n = 0; n < 1_000; n++) service.fail(id, `e${n}`)
    const env = { ...ADA, POSTERN_BASE_URL: service.url }
    const following = startCli(['deliveries', 'list', id, '--follow', '--json'], { env })
    await following.until(/"eventId":"e999"/)
    const calls = service.calls.length
    service.fail(id, 'new')
    await following.until(/"eventId":"new"/)
    const open = service.fail(id, 'open', { status: 'pending' })
    await following.until(/"eventId":"open"/)
    const odd = service.fail(id, 'odd', { status: 'of a name that nobody knows' })
    await following.until(/"eventId":"odd"/)
    for (let n = 0; n < 150; n++) service.fail(id, `later ${n}`)
    await following.until(/"eventId":"later 149"/)
    open.status = 'success'
    await following.until(/"state":"succeeded"/)
    odd.status = 'success'
    await following.until(/"state":"succeeded","status":"success","eventId":"odd"/)
    following.interrupt()
    expect(await following.exitCode).toBe(130)
    expect(service.calls.length - calls).toBeLessThan(20)
  })
})

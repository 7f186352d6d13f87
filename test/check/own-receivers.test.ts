import { createServer } from 'node:http'
import { checkReceiver } from 'postern/check'
import { nodeHandler } from 'postern/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { Scene } from '../inbox/scene.ts'
import { SECRET } from './faulty/hand-written.ts'
import { mustBeSound, startProbe } from './judge.ts'

describe('the checks', () => {
  it('all pass if an inbox acknowledges and a worker handles', async () => {
    const { work, probe, close: closeProbe } = await startProbe()
    onTestFinished(closeProbe)
    const { receiver } = new Scene({ secret: SECRET })
    receiver.on('*', ({ id }) => work(id)).work({ concurrency: 20, delay: () => 50 })
    const { port, close } = await listen(createServer(nodeHandler(receiver)))
    onTestFinished(close)
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, { secret: SECRET, probe })
    mustBeSound(report)
    expect(report.summary.pass).toBe(report.checks.length)
  })
})

import { createServer } from 'node:http'
import { createReceiver } from 'postern'
import { checkReceiver, urlProbe } from 'postern/check'
import { nodeHandler } from 'postern/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hosts, listen } from '../adapters/http/hosts.ts'
import { Scene } from '../inbox/scene.ts'
import { mustBeSound } from './judge.ts'

const SECRET = 'a secret for the checks'

/** Work that can be made to fail, and the server of its probe. */
async function startProbe() {
  const runs = new Map<string, number>()
  const failing = new Set<string>()
  const server = createServer((request, response) => {
    const id = new URL(request.url ?? '', 'http://localhost').searchParams.get('id') ?? ''
    if (request.method === 'POST') failing.add(id)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ runs: runs.get(id) ?? 0 }))
  })
  const { port, close } = await listen(server)
  const work = (id: string) => {
    if (failing.delete(id)) throw new Error('the probe asked for it')
    runs.set(id, (runs.get(id) ?? 0) + 1)
  }
  return { work, probe: urlProbe(new URL(`http://127.0.0.1:${port}/probe`)), close }
}

describe('the checks', () => {
  it.concurrent.for(hosts)('all pass behind $name', async (host, { onTestFinished }) => {
    const { work, probe, close: closeProbe } = await startProbe()
    onTestFinished(closeProbe)
    const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
    const receiver = createReceiver({ secret: SECRET, logger: silent }).on('*', ({ id }) => work(id))
    const { port, close } = await host.start(receiver)
    onTestFinished(close)
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, { secret: SECRET, probe })
    mustBeSound(report)
    expect(report.summary).toEqual({ pass: report.checks.length, fail: 0, warn: 0, info: 0, skipped: 0 })
  })

  it('all pass if an inbox acknowledges and a worker handles', async () => {
    const { work, probe, close: closeProbe } = await startProbe()
    onTestFinished(closeProbe)
    const { receiver } = new Scene({ secret: SECRET })
    receiver.on('*', ({ id }) => work(id)).work({ concurrency: 20, delay: () => 50 })
    const { port, close } = await listen(createServer(nodeHandler(receiver)))
    onTestFinished(close)
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, { secret: SECRET, probe })
    mustBeSound(report)
    // The inbox retries its failed event, not the sender.
    const rest = report.checks.filter(({ status }) => status !== 'pass')
    expect(rest).toMatchObject([{ id: 'effect-retry-after-failure', status: 'skipped' }])
  })
})

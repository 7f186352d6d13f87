import { createServer } from 'node:http'
import { checkReceiver } from 'postern/check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { HandWritten, SECRET } from './faulty/hand-written.ts'
import { told } from './judge.ts'

describe('the checker', () => {
  it.each([
    ['seconds', () => '1'],
    ['a date', () => new Date(Date.now() + 1_500).toUTCString()],
  ])('retries when a receiver asks for it, in %s', async (form, toHeader) => {
    const receiver = new HandWritten().createServer()
    const seen: number[] = []
    const { port, close } = await listen(
      createServer((request, response) => {
        seen.push(performance.now())
        if (seen.length > 1) receiver.emit('request', request, response)
        else response.writeHead(429, { 'retry-after': toHeader() }).end()
      }),
    )
    onTestFinished(close)
    const options = { secret: SECRET, only: ['late-retry'] }
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, options)
    expect(report.summary.pass).toBe(1)
    const [first = 0, second = 0, ...more] = seen
    expect(more).toEqual([])
    expect(second - first).toBeGreaterThan(form === 'seconds' ? 950 : 400)
  })

  it('waits for a receiver that asks for just its patience, such as Postern, which asks for 30 s', async () => {
    const receiver = new HandWritten().createServer()
    let seen = 0
    const { port, close } = await listen(
      createServer((request, response) => {
        if (++seen > 1) receiver.emit('request', request, response)
        else setTimeout(() => response.writeHead(503, { 'retry-after': '1' }).end(), 200)
      }),
    )
    onTestFinished(close)
    const options = { secret: SECRET, only: ['late-retry'], patienceMs: 1_000 }
    const { summary } = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, options)
    expect(summary.pass).toBe(1)
  })

  it('warns of a delivery that is deferred late, even if the next attempt is answered immediately', async () => {
    let seen = 0
    const { port, close } = await listen(
      createServer((request, response) => {
        request.resume()
        if (++seen > 1) response.end()
        else setTimeout(() => response.writeHead(503, { 'retry-after': '0' }).end(), 2_100)
      }),
    )
    onTestFinished(close)
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, { secret: SECRET, only: ['deadline'] })
    expect(told(report, 'warn').deadline).toMatch(/^503 after \d{4,} ms, put off for 0 s$/)
  })

  it.each([
    ['always puts it off', { 'retry-after': '1' }, 1_500, 2],
    ['asks for more time than there is', { 'retry-after': '2' }, 1_500, 1],
    ['says no time', {}, 1_500, 1],
    ['says none that can be read', { 'retry-after': 'soon' }, 1_500, 1],
  ])('does not wait for ever for a receiver that %s', async (_what, headers, patienceMs, requests) => {
    let seen = 0
    const { port, close } = await listen(
      createServer((_request, response) => {
        seen++
        response.writeHead(503, headers).end()
      }),
    )
    onTestFinished(close)
    const options = { secret: SECRET, only: ['late-retry'], patienceMs }
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, options)
    expect(report.summary.fail).toBe(1)
    expect(seen).toBe(requests)
    await checkReceiver(`http://127.0.0.1:${port}/webhooks`, { ...options, only: ['bytes'], concurrency: 1 })
    // After the first failure the others are not sent again.
    expect(seen).toBeLessThanOrEqual(requests + 13)
  })

  it('stops waiting when it is interrupted', async () => {
    const stop = new AbortController()
    let requests = 0
    const { port, close } = await listen(
      createServer((_request, response) => {
        requests++
        response.writeHead(503, { 'retry-after': '29' }).end()
        response.on('close', () => stop.abort())
      }),
    )
    onTestFinished(close)
    const started = performance.now()
    await checkReceiver(`http://127.0.0.1:${port}/`, { secret: SECRET, only: ['late-retry'], signal: stop.signal })
    expect(performance.now() - started).toBeLessThan(20_000)
    expect(requests).toBe(1)
  })
})

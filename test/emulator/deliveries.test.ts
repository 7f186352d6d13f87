import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { systemClock, verify } from 'postern'
import type { EmulatorOptions } from 'postern/emulator'
import { openSqlite } from 'postern/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { call, serve, sink, start, until } from './support.ts'

const EVENTS = ['contact.created']

/** A server that writes raw text instead of HTTP. */
async function listenRaw(onData: (write: (text: string) => void, end: () => void) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () =>
      onData(
        (text) => socket.write(text),
        () => socket.destroy(),
      ),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  return `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

describe('an attempt fails, with a reason', () => {
  const attemptAt = async (url: string, options = {}) => {
    const crm = await start(options)
    crm.webhooks.create({ url, events: EVENTS })
    crm.records.create('contact')
    await crm.deliveries.whenIdle()
    return crm.deliveries.list()[0]?.attempts[0]
  }

  it.each([400, 503])('status: %i', async (status) => {
    const { url } = await sink(Date, status)
    expect(await attemptAt(url)).toMatchObject({ status, failure: 'status', error: `the answer was ${status}` })
  })

  it.each([301, 302, 307, 308])('redirect: %i, which is not followed', async (status) => {
    const receiver = await sink(Date, status)
    expect(await attemptAt(receiver.url)).toMatchObject({ status, failure: 'redirect' })
    expect(receiver.received).toHaveLength(1)
  })

  it('refused: nothing listens there', async () => {
    const { url, server } = await serve(() => {})
    await new Promise((resolve) => server.close(resolve))
    expect(await attemptAt(url)).toMatchObject({ status: undefined, failure: 'refused' })
  })

  it('reset: the connection ends without an answer', async () => {
    const host = await listenRaw((_write, end) => end())
    expect(await attemptAt(`http://${host}/`)).toMatchObject({ failure: 'reset' })
  })

  it('reset: the answer is not HTTP', async () => {
    const host = await listenRaw((write, end) => [write('what is this?\r\n\r\n'), end()])
    expect(await attemptAt(`http://${host}/`)).toMatchObject({ failure: 'reset' })
  })

  it('dns: the name is not known', async () => {
    expect(await attemptAt('https://no-such-host.invalid/')).toMatchObject({ failure: 'dns' })
  })

  it('tls: the server has no TLS', async () => {
    const { url } = await serve((_request, response) => response.end())
    expect(await attemptAt(url.replace('http:', 'https:'))).toMatchObject({ failure: 'tls' })
  })

  it('timeout: no answer within the deadline, even in real time', async () => {
    const { url } = await serve(() => {})
    const crm = await start({ clock: systemClock, deadline: '50ms', retryScale: 1e6 })
    crm.webhooks.create({ url, events: EVENTS })
    crm.records.create('contact')
    await until(() => crm.deliveries.list()[0]?.status === 'failed')
    expect(crm.deliveries.list()[0]?.attempts.map(({ failure }) => failure)).toEqual(new Array(5).fill('timeout'))
  })
})

describe('an attempt succeeds', () => {
  it('with a 2xx in time, even if its body never ends', async () => {
    const crm = await start()
    const { url } = await serve((_request, response) => response.writeHead(200).write('so far'))
    crm.webhooks.create({ url, events: EVENTS })
    crm.records.create('contact')
    await crm.clock.advance('10s')
    expect(crm.deliveries.list()).toMatchObject([
      { status: 'success', attempts: [{ responseBody: 'so far', durationMs: 10_000 }] },
    ])
  })

  it('and reads no more than 64 KiB of the answer, and keeps 4', async () => {
    const crm = await start()
    let written = 0
    const { url } = await serve((_request, response) => {
      response.on('error', () => {})
      const write = (): void => {
        for (let isOpen = true; isOpen && !response.destroyed && written < 1e8; written += 1_024)
          isOpen = response.write('x'.repeat(1_024))
      }
      response.on('drain', write)
      write()
    })
    crm.webhooks.create({ url, events: EVENTS })
    crm.records.create('contact')
    await crm.deliveries.whenIdle()
    expect(crm.deliveries.list()[0]).toMatchObject({ status: 'success' })
    expect(crm.deliveries.list()[0]?.attempts[0]?.responseBody).toBe('x'.repeat(4_096))
    expect(written).toBeLessThan(5e7)
  })
})

describe('many deliveries at the same time', () => {
  /** Lets events occur for 12 webhooks, and answers nothing before `most` attempts are under way. */
  const load = async (type: string, count: number, most: number) => {
    const crm = await start()
    const held: ServerResponse[] = []
    let isHolding = true
    const { url } = await serve((request, response) => {
      request.resume()
      if (isHolding) held.push(response)
      else response.end()
    })
    for (let index = 0; index < 12; index++) crm.webhooks.create({ url, events: [`m${index}.created`, 'all.created'] })
    crm.events.emitMany({ type }, count)
    await until(() => held.length >= most)
    const state = await call(crm, 'GET /_emulator/clock')
    expect(state.json).toMatchObject({ inFlight: most })
    isHolding = false
    for (const response of held) response.end()
    await crm.deliveries.whenIdle()
    expect(held).toHaveLength(most)
    expect(new Set(crm.deliveries.list().map(({ status }) => status))).toEqual(new Set(['success']))
  }

  it('at most 8 are under way for one webhook', () => load('m0.created', 40, 8))

  it('at most 64 are under way in all', () => load('all.created', 20, 64))

  it('one at a time for each webhook, in order, if that is requested', async () => {
    const crm = await start({ ordered: true })
    const receiver = await sink()
    crm.webhooks.create({ url: receiver.url, events: EVENTS })
    const ids = crm.events.emitMany({ type: 'contact.created' }, 30).map(({ id }) => id)
    await crm.deliveries.whenIdle()
    expect(receiver.received.map(({ body }) => JSON.parse(String(body)).id)).toEqual(ids)
  })

  it('a webhook that hangs does not delay the others', async () => {
    const crm = await start()
    const { url } = await serve(() => {})
    const good = await sink()
    crm.webhooks.create({ url, events: EVENTS })
    crm.webhooks.create({ url: good.url, events: EVENTS })
    crm.events.emitMany({ type: 'contact.created' }, 100)
    await until(() => good.received.length === 100)
  })

  it('webhooks that hang and fill all places make room for another before each of them had a second turn', async () => {
    const crm = await start()
    const held: ServerResponse[] = []
    const { url } = await serve((_request, response) => held.push(response))
    const good = await sink()
    for (let made = 0; made < 8; made++) crm.webhooks.create({ url, events: EVENTS })
    crm.events.emitMany({ type: 'contact.created' }, 50)
    await until(() => held.length === 64)
    crm.webhooks.create({ url: good.url, events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    expect((await call(crm, 'GET /_emulator/clock')).json).toMatchObject({ inFlight: 64 })
    expect(good.received).toEqual([])
    for (let freed = 1; freed <= 9 && good.received.length === 0; freed++) {
      held[freed - 1]?.end()
      await until(() => good.received.length === 1 || held.length === 64 + freed)
    }
    expect(good.received).toHaveLength(1)
  })
})

describe('faults', () => {
  it('fail: nothing is sent, and the attempt counts', async () => {
    const crm = await start({ faults: { fail: 1 } })
    const receiver = await sink()
    crm.webhooks.create({ url: receiver.url, events: EVENTS })
    crm.records.create('contact')
    await crm.clock.advance('3h')
    expect(receiver.received).toEqual([])
    expect(crm.deliveries.list()).toMatchObject([
      { status: 'failed', attempts: [{ failure: 'reset' }, {}, {}, {}, {}] },
    ])
  })

  it('duplicate: the same bytes twice, and one attempt', async () => {
    const crm = await start({ faults: { duplicate: 1 } })
    const receiver = await sink()
    crm.webhooks.create({ url: receiver.url, events: EVENTS })
    crm.records.create('contact')
    await crm.clock.advance(0)
    expect(receiver.received).toHaveLength(2)
    expect(receiver.received[0]?.body).toEqual(receiver.received[1]?.body)
    expect(crm.deliveries.list()[0]?.attempts).toHaveLength(1)
  })

  it('duplicate: the attempt took as long as the duplicate whose answer counts', async () => {
    const crm = await start({ faults: { duplicate: 1 } })
    let requests = 0
    const { url } = await serve((request, response) => {
      request.resume()
      if (++requests === 1) response.end()
    })
    crm.webhooks.create({ url, events: EVENTS })
    crm.records.create('contact')
    await crm.clock.advance('10s')
    expect(crm.deliveries.list()[0]?.attempts).toMatchObject([{ status: 200, durationMs: 0 }])
  })

  it('are the same for the same seed, no matter how long receivers take', async () => {
    const run = async () => {
      const crm = await start({ faults: { fail: 0.5, duplicate: 0.3 }, seed: 7 })
      const { url } = await serve((request, response) => {
        request.resume()
        setTimeout(() => response.writeHead(500).end(), Math.random() * 25)
      })
      crm.webhooks.create({ url, events: EVENTS })
      for (let count = 0; count < 12; count++) crm.records.create('contact')
      await crm.clock.advance('1m')
      const failures = crm.deliveries.list().map(({ attempts }) => attempts.map(({ failure }) => failure))
      return { failures, id: crm.records.create('contact')._id }
    }
    const first = await run()
    expect(new Set(first.failures.flat())).toEqual(new Set(['reset', 'status']))
    expect([await run(), await run()]).toEqual([first, first])
  })

  it('shuffle: out of order, the same way for the same seed', async () => {
    const order = async (seed: string) => {
      const crm = await start({ faults: { shuffle: true }, ordered: true, seed })
      const receiver = await sink()
      const { id } = crm.webhooks.create({ url: receiver.url, events: EVENTS, active: true })
      crm.webhooks.pause(id)
      crm.webhooks.resume(id)
      const ids = crm.events.emitMany({ type: 'contact.created' }, 30).map((event) => event.id)
      await crm.deliveries.whenIdle()
      return receiver.received.map(({ body }) => ids.indexOf(JSON.parse(String(body)).id))
    }
    const [one, again, other] = [await order('a'), await order('a'), await order('b')]
    expect(one).not.toEqual([...one].sort((a, b) => a - b))
    expect(again).toEqual(one)
    expect(other).not.toEqual(one)
  })

  it('latency: an attempt waits before it is sent', async () => {
    const crm = await start({ faults: { latency: ['2s', '2s'] } })
    const receiver = await sink(crm.clock)
    crm.webhooks.create({ url: receiver.url, events: EVENTS })
    crm.records.create('contact')
    await crm.clock.advance('1.9s')
    expect(receiver.received).toEqual([])
    await crm.clock.advance('100ms')
    expect(receiver.received).toHaveLength(1)
  })

  describe('latency: an attempt that waits to be sent', () => {
    const scene = async (options: EmulatorOptions = {}) => {
      const crm = await start({ faults: { latency: '2s' }, ...options })
      const receiver = await sink(crm.clock)
      const { id } = crm.webhooks.create({ url: receiver.url, events: EVENTS })
      return { crm, receiver, id }
    }

    it('is held by a pause, and sent after the webhook is resumed', async () => {
      const { crm, receiver, id } = await scene()
      crm.records.create('contact')
      await crm.clock.advance('1s')
      crm.webhooks.pause(id)
      await crm.clock.advance('1h')
      expect(receiver.received).toEqual([])
      expect(crm.deliveries.list()).toMatchObject([{ status: 'pending', isInFlight: false, attempts: [] }])
      crm.webhooks.resume(id)
      await crm.clock.advance('2s')
      expect(receiver.received).toHaveLength(1)
      expect(crm.deliveries.list()).toMatchObject([{ status: 'success', attempts: [{ number: 1 }] }])
    })

    it('is the next stop of a manual clock', async () => {
      const { crm, receiver } = await scene()
      crm.records.create('contact')
      const begin = crm.clock.now()
      expect(await crm.clock.next()).toBe(true)
      expect([crm.clock.now() - begin, receiver.received.length]).toEqual([2_000, 1])
      expect(await crm.clock.next()).toBe(false)
    })

    it('is sent once if the webhook is resumed before the latency has passed', async () => {
      const { crm, receiver, id } = await scene()
      crm.records.create('contact')
      await crm.clock.advance('1s')
      crm.webhooks.pause(id)
      crm.webhooks.resume(id)
      await crm.clock.advance('1h')
      expect(receiver.received).toHaveLength(1)
    })

    it.each(['gone', 'kept'] as const)('is not sent once its webhook is deleted, log %s', async (A33) => {
      const { crm, receiver, id } = await scene({ assume: { A33 } })
      crm.records.create('contact')
      await crm.clock.advance('1s')
      crm.webhooks.delete(id)
      await crm.clock.advance('1h')
      expect(receiver.received).toEqual([])
      expect(crm.deliveries.list().map(({ status }) => status)).toEqual(A33 === 'gone' ? [] : ['failed'])
    })

    it('is not sent after a reset', async () => {
      const { crm, receiver } = await scene()
      crm.records.create('contact')
      await crm.clock.advance('1s')
      crm.reset()
      expect(await crm.clock.next()).toBe(false)
      await crm.clock.advance('1h')
      expect(receiver.received).toEqual([])
    })

    it.each([
      ['dropped', 'failed', 1],
      ['counted', 'pending', 2],
    ] as const)('a retry is %s by a pause if that is assumed (A32)', async (A32, status, attempts) => {
      const { crm, receiver, id } = await scene({ assume: { A32 } })
      receiver.answers = [500]
      crm.records.create('contact')
      await crm.clock.advance('33s')
      crm.webhooks.pause(id)
      await crm.clock.advance('5s')
      expect(receiver.received).toHaveLength(1)
      expect(crm.deliveries.list()).toMatchObject([{ status }])
      expect(crm.deliveries.list()[0]?.attempts).toHaveLength(attempts)
    })

    it('goes to the URL that the webhook has when it leaves', async () => {
      const { crm, receiver, id } = await scene()
      const other = await sink(crm.clock)
      crm.records.create('contact')
      await crm.clock.advance('1s')
      crm.webhooks.update(id, { url: other.url })
      await crm.clock.advance('1s')
      expect([receiver.received.length, other.received.length]).toEqual([0, 1])
    })

    it('keeps its place in an ordered webhook that was paused', async () => {
      const { crm, receiver, id } = await scene({ ordered: true })
      const ids = crm.events.emitMany({ type: 'contact.created' }, 3).map((event) => event.id)
      await crm.clock.advance('1s')
      crm.webhooks.pause(id)
      await crm.clock.advance('1h')
      crm.webhooks.resume(id)
      await crm.clock.advance('10s')
      expect(receiver.received.map(({ body }) => JSON.parse(String(body)).id)).toEqual(ids)
    })

    it('is repeated by the next start if the emulator closes before it was sent', async () => {
      const database = openSqlite(':memory:')
      onTestFinished(async () => database.close())
      const { crm, receiver } = await scene({ database })
      crm.records.create('contact')
      await crm.clock.advance('1s')
      await crm.close()
      expect(receiver.received).toEqual([])
      const next = await start({ database })
      await next.clock.advance(0)
      expect(receiver.received).toHaveLength(1)
      expect(next.deliveries.list()).toMatchObject([{ status: 'success', attempts: [{ number: 1 }] }])
    })
  })

  it('retryScale divides the delays and nothing else', async () => {
    const crm = await start({ retryScale: 600 })
    const receiver = await sink(crm.clock, 500)
    crm.webhooks.create({ url: receiver.url, events: EVENTS })
    const begin = crm.clock.now()
    crm.records.create('contact')
    await crm.clock.advance('1m')
    expect(receiver.received.map(({ at }) => at - begin)).toEqual([0, 50, 550, 3_550, 15_550])
    expect(receiver.received.map(({ body }) => JSON.parse(String(body)).timestamp)).toContain(
      new Date(begin).toISOString(),
    )
  })
})

describe('resend', () => {
  const scene = async () => {
    const crm = await start()
    const receiver = await sink()
    const { secret } = crm.webhooks.create({ url: receiver.url, events: EVENTS })
    crm.records.create('contact', { firstName: 'Zoë' })
    await crm.clock.advance(0)
    return { crm, receiver, secret, id: crm.deliveries.list()[0]?.id ?? '' }
  }

  it.each([
    ['the same bytes', {}, true],
    ['an edited body, signed anew', { body: '{"edited":1}' }, true],
    ['without a signature', { sign: 'none' }, false],
    ['signed by another secret', { sign: 'wrong' }, false],
    ['an edited body under the old signature', { body: '{"edited":1}', sign: 'stale-bytes' }, false],
  ] as const)('%s', async (_what, options, isGenuine) => {
    const { crm, receiver, secret, id } = await scene()
    const resent = crm.deliveries.resend(id, options)
    await crm.clock.advance(0)
    const [first, second] = receiver.received
    expect(String(second?.body)).toBe('body' in options ? options.body : String(first?.body))
    expect(verify(second?.body ?? '', second?.headers['x-service-signature'], secret)).toBe(isGenuine)
    expect(crm.deliveries.get(resent.id)).toMatchObject({ resendOf: id, status: 'success' })
  })

  it('is one attempt, whatever its result', async () => {
    const { crm, receiver, id } = await scene()
    receiver.answers = [500]
    crm.deliveries.resend(id)
    await crm.clock.advance('24h')
    expect(receiver.received).toHaveLength(2)
    expect(crm.deliveries.list().map(({ status }) => status)).toEqual(['success', 'failed'])
  })

  it('refuses a stale signature if nothing is edited', async () => {
    const { crm, id } = await scene()
    expect(() => crm.deliveries.resend(id, { sign: 'stale-bytes' })).toThrow(
      expect.objectContaining({ code: 'emulator_refused' }),
    )
  })
})

describe('a webhook that is deleted', () => {
  it('gets no further attempt, even if one is under way', async () => {
    const crm = await start()
    const receiver = await sink(crm.clock, 0)
    const { id } = crm.webhooks.create({ url: receiver.url, events: EVENTS })
    crm.records.create('contact')
    await crm.clock.advance('5s')
    crm.webhooks.delete(id)
    await crm.clock.advance('24h')
    expect(receiver.received).toHaveLength(1)
    expect(crm.deliveries.list()).toEqual([])
  })
})

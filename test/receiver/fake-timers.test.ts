import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver, type HandlerContext, type Outcome } from 'postern'
import { events, signed } from 'postern/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { SECRET } from './support.ts'

/** Ways of test runners to replace the timers of the host. */
const FAKES = {
  'mock.timers of node:test': {
    begin: () => mock.timers.enable(),
    advance: (ms: number) => mock.timers.tick(ms),
    end: () => mock.timers.reset(),
  },
  'vi.useFakeTimers': {
    begin: () => vi.useFakeTimers(),
    advance: (ms: number) => void vi.advanceTimersByTime(ms),
    end: () => void vi.useRealTimers(),
  },
}

afterEach(() => {
  mock.timers.reset()
  vi.useRealTimers()
})

describe.each(Object.entries(FAKES))('a receiver whose tests use %s', (_name, fake) => {
  /** A receiver whose handlers run until they are aborted, and the codes of its errors. */
  function scene() {
    const codes: string[] = []
    const receiver = createReceiver({
      secret: SECRET,
      deadlineMs: 100,
      handlerTimeoutMs: 1_000,
      leaseMs: 2_000,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      onError: ({ code }) => void codes.push(code),
    })
    receiver.on('contact.created', (_event: unknown, { signal }: HandlerContext) => {
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    return { receiver, codes, send: () => receiver.dispatch(events.contact.created()) }
  }

  it('cuts bodies that stall by the timers of each test', async () => {
    const { receiver } = scene()
    const { headers } = signed(events.contact.created(), { secret: SECRET })
    const header = (name: string) => new Headers(headers).get(name) ?? undefined
    const begin = (read: () => Promise<{ readonly failure: 'body_incomplete' }>) =>
      receiver.handle({ header, read }).then(({ status }) => status)
    const stall = () => begin(() => new Promise(() => {}))
    expect(await Promise.all([stall(), stall()])).toEqual([408, 408])
    expect(await begin(async () => ({ failure: 'body_incomplete' }))).toBe(400)
    for (const _test of [1, 2]) {
      fake.begin()
      const sent = stall()
      fake.advance(100)
      expect(await sent).toBe(408)
      fake.end()
    }
    expect(await stall()).toBe(408)
    await receiver.close({ timeoutMs: 1 })
  })

  it('has its time limits by the timers of the test, and real ones before and after', async () => {
    const { receiver, codes, send } = scene()
    expect(await send()).toMatchObject({ outcome: 'late' })
    while (!codes.includes('handler_timeout')) await sleep(5)
    fake.begin()
    const ended: Outcome[] = []
    const sent = send().then((outcome) => ended.push(outcome))
    await Promise.resolve()
    fake.advance(100)
    await sent
    expect(ended).toMatchObject([{ outcome: 'late' }])
    fake.advance(1_000)
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    expect(codes.filter((code) => code === 'handler_timeout')).toHaveLength(2)
    void send() // its timer no longer comes
    await Promise.resolve()
    fake.end()
    expect(await send()).toMatchObject({ outcome: 'late' })
    while (codes.filter((code) => code === 'handler_timeout').length < 3) await sleep(5)
    await receiver.close({ timeoutMs: 1 })
  })
})

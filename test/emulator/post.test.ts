import { getEventListeners } from 'node:events'
import { manualClock } from 'postern/testing'
import { expect, it } from 'vitest'
import { post } from '../../src/emulator/post.ts'
import { serve, sink } from './support.ts'

it('leaves neither a timer nor a listener behind, whatever the outcome of the request', async () => {
  const clock = manualClock()
  const { signal } = new AbortController()
  const receiver = await sink(clock, 200, 500)
  const broken = await serve((request) => request.socket.destroy())
  const options = { headers: [], body: new Uint8Array([1]), deadlineMs: 10_000, clock, rule: 'local', signal } as const
  const results = []
  for (const url of [receiver.url, receiver.url, broken.url, 'http://10.0.0.1/'])
    results.push(await post(new URL(url), options))
  expect(results.map(({ failure }) => failure)).toEqual([undefined, 'status', 'reset', 'blocked-url'])
  expect([clock.pending, getEventListeners(signal, 'abort')]).toEqual([0, []])
})

it('ends with the emulator', async () => {
  const clock = manualClock()
  const closing = new AbortController()
  const receiver = await sink(clock, 0)
  const { signal } = closing
  const options = { headers: [], body: new Uint8Array([1]), deadlineMs: 10_000, clock, rule: 'local', signal } as const
  const result = post(new URL(receiver.url), options)
  closing.abort()
  expect(await result).toMatchObject({ failure: 'reset', error: 'the emulator was closed', status: undefined })
  expect(clock.pending).toBe(0)
})

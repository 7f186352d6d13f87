import type { ServerResponse } from 'node:http'
import type { Clock } from 'postern'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { post } from '../../tools/emulator/post.ts'
import { serve, until } from './support.ts'

/** Options of a request with this clock. */
const optionsOf = (clock: Clock) => {
  const { signal } = new AbortController()
  return { headers: [], body: new Uint8Array([1]), deadlineMs: 10_000, clock, rule: 'local', signal } as const
}

describe('a request', () => {
  /** Sends to a server that answers as told. */
  async function send(answer: (response: ServerResponse) => void, deadlineMs = 10_000) {
    const clock = manualClock()
    let reached = 0
    const { url } = await serve((request, response) => {
      request.resume().on('end', () => {
        reached++
        answer(response)
      })
    })
    const phases: string[] = []
    const result = post(new URL(url), { ...optionsOf(clock), deadlineMs, onPhase: (phase) => phases.push(phase) })
    return { result, clock, phases, hasReached: () => reached === 1 }
  }

  it.each([
    [299, undefined, undefined],
    [300, 'status', 'the answer was 300'],
    [308, 'redirect', 'the answer was 308; redirects are not followed'],
    [599, 'status', 'the answer was 599'],
  ])('that is answered with %i: %s', async (status, failure, error) => {
    const { result, phases } = await send((response) =>
      response.writeHead(status, { 'x-made-by': 'test' }).end('noted'),
    )
    expect(await result).toEqual({
      status,
      failure,
      error,
      responseBody: 'noted',
      responseHeaders: expect.objectContaining({ 'x-made-by': 'test' }),
    })
    expect(phases).toEqual(['connected', 'answered'])
  })

  it.each([
    ['whole up to 64 KiB', `a${'é'.repeat(32_767)}b`, `a${'é'.repeat(32_767)}b`, undefined],
    ['up to that length, and says that it was cut', `a${'é'.repeat(40_000)}`, `a${'é'.repeat(32_767)}`, 65_536],
  ])('keeps the body of the answer %s', async (_what, body, kept, cutAt) => {
    const { result } = await send((response) => response.end(body))
    const { responseBody, responseCutAt } = await result
    expect(responseBody === kept).toBe(true)
    expect(responseCutAt).toBe(cutAt)
  })

  it('says after how many bytes the receiver cut its answer', async () => {
    const { result } = await send((response) => {
      response.writeHead(200, { 'content-length': 9 }).write('part', () => response.destroy())
    })
    expect(await result).toMatchObject({ failure: undefined, responseBody: 'part', responseCutAt: 4 })
  })

  it('fails at its deadline, by the clock', async () => {
    const { result, clock, hasReached } = await send(() => {}, 1_500)
    await until(hasReached)
    await clock.advance(1_499)
    expect(await Promise.race([result, 'waiting'])).toBe('waiting')
    await clock.advance(1)
    const unanswered = { status: undefined, responseHeaders: {}, responseBody: '' }
    expect(await result).toEqual({ ...unanswered, failure: 'timeout', error: 'no answer within 1.5 s' })
  })

  it('to a port without a server asks if the receiver runs', async () => {
    const { server, url } = await serve(() => {})
    await new Promise((resolve) => server.close(resolve))
    expect(await post(new URL(url), optionsOf(manualClock()))).toMatchObject({
      failure: 'refused',
      error: expect.stringMatching(/; is the receiver running\?$/),
    })
  })
})

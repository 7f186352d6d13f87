import { createServer, type ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createScene } from '../../tools/check/scene.ts'
import { listen } from '../adapters/http/hosts.ts'
import { OPTIONS, play, type Step } from './play.ts'

describe('the scene of a run', () => {
  it('does not wait for longer than its patience, and has none left after that', async () => {
    const { send, seen } = await play([[503, '11']])
    expect((await send()).status).toBe(503)
    expect(seen).toHaveLength(1)
    const { send: sendAgain, seen: again } = await play([[503, '0']], { patienceMs: 500 })
    await sendAgain()
    expect(again.length).toBeGreaterThan(1)
    const before = again.length
    await sendAgain()
    expect(again).toHaveLength(before + 1)
  })

  it('sends nothing more to a receiver that hangs, but for one delivery when it is asked to', async () => {
    const { scene, send, seen } = await play([200, 'never'])
    for (let count = 0; count < 15; count++) await send()
    expect(seen).toHaveLength(1 + 8 + 1)
    expect(await send()).toMatchObject({
      failureKind: 'timeout',
      failure: 'not sent, since the receiver answered nothing in time',
    })
    scene.wake()
    for (let count = 0; count < 3; count++) await send()
    expect(seen).toHaveLength(1 + 8 + 2)
  })
})

describe('deliveries in turn', () => {
  const sendThree = async (steps: readonly Step[]) => {
    const { scene, seen } = await play(steps)
    const deliveries = ['a', 'b', 'c'].map((text) => scene.make.delivery(text))
    const answers = await scene.sendInTurn(deliveries)
    return { statuses: answers.map(({ status }) => status), ports: new Set(seen.map(({ port }) => port)).size, seen }
  }

  it('are sent again over another connection if the receiver closed the first, once each', async () => {
    const { statuses, ports, seen } = await sendThree([200, 'cut', 401, 202])
    expect(statuses).toEqual([200, 401, 202])
    expect(ports).toBe(2)
    expect(seen).toHaveLength(4)
    expect((await sendThree([200, 'cut', 'cut', 202])).statuses).toEqual([200, undefined, 202])
  })

  it('are not sent again if the first of all is cut off', async () => {
    const { statuses, seen } = await sendThree(['cut', 401, 202])
    expect(statuses).toEqual([undefined, 401, 202])
    expect(seen).toHaveLength(3)
  })
})

describe('the connection of deliveries in turn', () => {
  it('is closed once the run is interrupted', async () => {
    const stop = new AbortController()
    let open = 0
    let requests = 0
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(++requests > 1 ? 503 : 200, { 'retry-after': '5' }).end())
      if (requests === 1) setTimeout(() => stop.abort(), 50)
    }).on('connection', (socket) => {
      open++
      socket.on('close', () => open--)
    })
    const { port, close } = await listen(server)
    onTestFinished(close)
    const target = new URL(`http://127.0.0.1:${port}/`)
    const { sendInTurn, make } = createScene({ ...OPTIONS, target, signal: stop.signal })
    await expect(sendInTurn([make.delivery('a'), make.delivery('b')])).rejects.toThrow('aborted')
    expect(requests).toBe(2)
    await expect.poll(() => open).toBe(0)
  })
})

describe('an interrupted run', () => {
  it('lets a delivery that is under way come to its end, for a second', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const stop = new AbortController()
    const held: ServerResponse[] = []
    const { port, close } = await listen(createServer((_request, response) => void held.push(response)))
    onTestFinished(close)
    const scene = createScene({ target: new URL(`http://127.0.0.1:${port}/`), ...OPTIONS, signal: stop.signal })
    const sending = ['x', 'y'].map((text) => scene.sendOnce(scene.make.delivery(text)))
    await vi.waitUntil(() => held.length === 2, { timeout: 60_000 })
    stop.abort()
    vi.advanceTimersByTime(999)
    held[0]?.end()
    const first = await Promise.race(sending)
    vi.advanceTimersByTime(1)
    expect(first.status).toBe(200)
    expect(await Promise.allSettled(sending)).toContainEqual(
      expect.objectContaining({ reason: expect.objectContaining({ name: 'AbortError' }) }),
    )
  })
})

import { createServer, type ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createScene } from '../../tools/check/scene.ts'
import { listen } from '../adapters/http/hosts.ts'
import { findFreePort } from '../support/programs.ts'
import { SECRET } from './faulty/hand-written.ts'
import { OPTIONS, play, type Step } from './play.ts'

describe('the scene of a run', () => {
  it('sends again as long as a delivery is put off, but not immediately', async () => {
    const { send, seen } = await play([[429, '0'], [503, '0'], 200])
    expect((await send()).status).toBe(200)
    expect(seen).toHaveLength(3)
    const [first, second, third] = seen.map(({ at }) => at)
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(45)
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThan(45)
  })

  it('sends once if it is asked to, or if the answer does not say when to retry', async () => {
    const { scene, seen } = await play([[503, '0']])
    expect((await scene.sendOnce(scene.make.delivery('x'))).status).toBe(503)
    expect(seen).toHaveLength(1)
    const { send, seen: again } = await play([503])
    expect((await send()).status).toBe(503)
    expect(again).toHaveLength(1)
  })

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

  it('keeps its patience for the next delivery if the first one was accepted in the end', async () => {
    const { send, seen } = await play([[503, '0'], [503, '0'], 200, [503, '0'], [503, '0'], 200])
    expect([(await send()).status, (await send()).status]).toEqual([200, 200])
    expect(seen).toHaveLength(6)
  })

  it('waits for a delivery that is put off by all of its patience', async () => {
    const { send } = await play([[503, '1'], 200], { patienceMs: 1_000 })
    expect((await send()).status).toBe(200)
  })

  it('has the secret as bytes, the patience and the probe of the run', async () => {
    const probe = { runs: async () => 0, fail: async () => {} }
    const { scene } = await play([200], { probe })
    expect(scene).toMatchObject({ secret: Buffer.from(SECRET), patienceMs: 10_000, probe })
    const bytes = Buffer.from(SECRET)
    expect((await play([200], { secret: bytes })).scene.secret).toEqual(bytes)
    expect(scene.make.event().accountKey).toBe('acme')
  })
})

describe('a scene of many deliveries that wait', () => {
  it('makes Node warn of no leak', async () => {
    const warnings: string[] = []
    const listen = (warning: Error) => warnings.push(warning.name)
    process.on('warning', listen)
    onTestFinished(() => void process.off('warning', listen))
    const { scene } = await play([200], { signal: new AbortController().signal })
    await Promise.all(Array.from({ length: 20 }, () => scene.wait(1)))
    await scene.wait(1)
    expect(warnings).toEqual([])
  })
})

describe('deliveries in turn', () => {
  const sendThree = async (steps: readonly Step[]) => {
    const { scene, seen } = await play(steps)
    const deliveries = ['a', 'b', 'c'].map((text) => scene.make.delivery(text))
    const answers = await scene.sendInTurn(deliveries)
    return { statuses: answers.map(({ status }) => status), ports: new Set(seen.map(({ port }) => port)).size, seen }
  }

  it('go over one connection, and their answers stand in the same order', async () => {
    const { statuses, ports } = await sendThree([200, 401, 202])
    expect(statuses).toEqual([200, 401, 202])
    expect(ports).toBe(1)
  })

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

  it('are sent again if they are put off', async () => {
    expect((await sendThree([200, [429, '0'], 401, 202])).statuses).toEqual([200, 401, 202])
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

describe('the end of a receiver', () => {
  it('is known, and it is told from a receiver that was never there', async () => {
    const nowhere = createScene({ target: new URL(`http://127.0.0.1:${await findFreePort()}/`), ...OPTIONS })
    expect([nowhere.isLost(), nowhere.isGone()]).toEqual([false, false])
    await nowhere.send(nowhere.make.delivery('x'))
    expect([nowhere.isLost(), nowhere.isGone()]).toEqual([true, false])

    const server = createServer((request, response) => request.resume().on('end', () => response.end()))
    const { port, close } = await listen(server)
    const scene = createScene({ target: new URL(`http://127.0.0.1:${port}/`), ...OPTIONS })
    await scene.send(scene.make.delivery('x'))
    expect([scene.isLost(), scene.isGone()]).toEqual([false, false])
    await close()
    await scene.send(scene.make.delivery('x'))
    expect([scene.isLost(), scene.isGone()]).toEqual([false, true])
  })

  it('is not a connection that is cut', async () => {
    const { scene, send } = await play(['cut'])
    await send()
    expect([scene.isLost(), scene.isGone()]).toEqual([false, false])
  })
})

describe('an interrupted run', () => {
  it('sends nothing more, and waits no more', async () => {
    const stop = new AbortController()
    const { scene, send, seen } = await play([200], { signal: stop.signal })
    const waiting = scene.wait(60_000)
    stop.abort()
    await expect(waiting).rejects.toThrow('aborted')
    await expect(send()).rejects.toThrow('aborted')
    expect(seen).toHaveLength(0)
  })

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

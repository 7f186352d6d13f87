import { setTimeout as sleep } from 'node:timers/promises'
import { bullmqInbox } from 'postern/bullmq'
import { events } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { redisProgram, startRedis } from '../../engines/redis-server.ts'
import { serverFor } from '../../engines/server-for.ts'
import { makeScene } from '../inbox-scene.ts'
import { ENGINES, type OpenInbox } from './engines.ts'

const AWAY_MS = Number(process.env.OUTAGE_MS ?? 4_000)

function sceneOf(inbox: OpenInbox) {
  onTestFinished(() => inbox.close())
  const scene = makeScene(inbox, { deadlineMs: 8_000 })
  const send = async (event: ReturnType<typeof events.contact.created>) => {
    const startedAt = performance.now()
    const outcome = await scene.send(event)
    return { outcome, tookMs: performance.now() - startedAt }
  }
  /** Sends until the delivery is acknowledged, like the service's retries. */
  const sendUntilAccepted = async (event: ReturnType<typeof events.contact.created>) => {
    while ((await scene.send(event)).outcome !== 'accepted') await sleep(100)
  }
  return { ...scene, send, sendUntilAccepted }
}

describe.each(ENGINES)('an inbox on $name', ({ start, open }) => {
  const server = serverFor(start)
  const openScene = () => sceneOf(open(server().url))

  it('answers 503 immediately while the engine is away under load, loses nothing, and is back by itself', async () => {
    const { receiver, send, sendUntilAccepted, seen, untilWorkedOff } = openScene()
    receiver.work({ concurrency: 20, delay: () => 100 })
    const accepted: string[] = []
    const refused: { readonly tookMs: number; readonly status: number }[] = []
    let isOver = false
    const load = Promise.all(
      Array.from({ length: 20 }, async () => {
        while (!isOver) {
          const event = events.contact.created()
          const { outcome, tookMs } = await send(event)
          if (outcome.outcome === 'accepted') accepted.push(event.id)
          else refused.push({ tookMs, status: outcome.status })
          await sleep(10)
        }
      }),
    )
    await sleep(500)
    await server().kill('SIGKILL')
    await sleep(AWAY_MS)
    await server().start()
    await sendUntilAccepted(events.contact.created())
    await sleep(500)
    isOver = true
    await load
    await untilWorkedOff()
    expect(refused.length).toBeGreaterThan(0)
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]))
    // Only items that are under way when the engine goes wait for the limit of 3 s.
    const tooks = refused.map(({ tookMs }) => tookMs).sort((a, b) => a - b)
    expect(tooks[Math.floor(tooks.length / 2)]).toBeLessThan(2_500)
    expect(accepted.filter((id) => !seen.includes(id))).toEqual([])
  })

  it('answers 503 while the engine is frozen, and continues with its items after that', async () => {
    const { receiver, send, sendUntilAccepted, seen, untilWorkedOff } = openScene()
    const before = Array.from({ length: 20 }, () => events.contact.created())
    for (const event of before) expect(await send(event)).toMatchObject({ outcome: { outcome: 'accepted' } })
    server().freeze()
    receiver.work()
    const { outcome } = await send(events.contact.created())
    expect(outcome).toMatchObject({ status: 503, code: 'inbox_unavailable' })
    server().thaw()
    await sendUntilAccepted(events.contact.created())
    await untilWorkedOff()
    for (const { id } of before) expect(seen).toContain(id)
  })

  it('starts while the engine is away', async () => {
    await server().kill('SIGKILL')
    const { receiver, send, sendUntilAccepted, seen, untilWorkedOff } = openScene()
    receiver.work()
    const event = events.contact.created()
    const { outcome } = await send(event)
    expect(outcome).toMatchObject({ status: 503, code: 'inbox_unavailable' })
    await server().start()
    await sendUntilAccepted(event)
    await untilWorkedOff()
    expect(seen).toContain(event.id)
  })
})

describe.skipIf(redisProgram === undefined)('bullmqInbox on a full Redis', () => {
  const server = serverFor(() => startRedis('--maxmemory', '24mb'))

  it('answers 503, and handles the items that it has, which frees memory', async () => {
    const { inbox, receiver, send, seen, errors, untilWorkedOff } = sceneOf(bullmqInbox({ connection: server().url }))
    const padding = 'x'.repeat(20_000)
    const accepted: string[] = []
    let refused = 0
    while (refused < 20) {
      const event = { ...events.contact.created(), data: { record: { _id: 'c1', padding } } }
      const { outcome } = await send(event)
      if (outcome.outcome === 'accepted') accepted.push(event.id)
      else refused++
      if (outcome.outcome !== 'accepted') expect(outcome).toMatchObject({ status: 503, code: 'inbox_unavailable' })
    }
    expect((await inbox.counts()).waiting).toBe(accepted.length)
    errors.splice(0)
    receiver.work()
    await untilWorkedOff()
    expect(errors.map(({ code }) => code)).toEqual([])
    expect([...seen].sort()).toEqual(accepted.sort())
    expect((await send(events.contact.created())).outcome.outcome).toBe('accepted')
  })
})

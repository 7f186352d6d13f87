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
  /** Sends until the delivery is acknowledged, like the service's retries. */
  const sendUntilAccepted = async (event = events.contact.created()) => {
    while ((await scene.send(event)).outcome !== 'accepted') await sleep(100)
  }
  return { ...scene, sendUntilAccepted }
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
          const startedAt = performance.now()
          const { outcome, status } = await send(event)
          if (outcome === 'accepted') accepted.push(event.id)
          else refused.push({ tookMs: performance.now() - startedAt, status })
          await sleep(10)
        }
      }),
    )
    await sleep(500)
    await server().kill('SIGKILL')
    await sleep(AWAY_MS)
    await server().start()
    await sendUntilAccepted()
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

  it.each([
    ['frozen', () => server().freeze(), () => server().thaw()],
    ['away', () => server().kill('SIGKILL'), () => server().start()],
  ])(
    'answers 503 while the engine is %s, in a process that starts then, too, and both go on',
    async (_, begin, end) => {
      const before = Array.from({ length: 20 }, () => events.contact.created())
      const first = openScene()
      for (const event of before) expect(await first.send(event)).toMatchObject({ outcome: 'accepted' })
      await begin()
      const second = openScene()
      for (const { receiver, send } of [first, second]) {
        receiver.work()
        expect(await send(events.contact.created())).toMatchObject({ status: 503, code: 'inbox_unavailable' })
      }
      await end()
      for (const { sendUntilAccepted, untilWorkedOff } of [first, second]) {
        await sendUntilAccepted()
        await untilWorkedOff()
      }
      for (const { id } of before) expect([...first.seen, ...second.seen]).toContain(id)
      // Either worker may take an event.
      while (second.seen.length === 0) {
        await second.sendUntilAccepted()
        await second.untilWorkedOff()
      }
    },
  )
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
      const answer = await send(event)
      if (answer.outcome === 'accepted') accepted.push(event.id)
      else refused++
      if (answer.outcome !== 'accepted') expect(answer).toMatchObject({ status: 503, code: 'inbox_unavailable' })
    }
    expect((await inbox.counts()).waiting).toBe(accepted.length)
    errors.splice(0)
    receiver.work()
    await untilWorkedOff()
    expect(errors.map(({ code }) => code)).toEqual([])
    expect([...seen].sort()).toEqual(accepted.sort())
    expect((await send(events.contact.created())).outcome).toBe('accepted')
  })
})

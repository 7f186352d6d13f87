import { type HandlerContext, RetryLater } from 'postern'
import { events, signed } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { SECRET as INBOX_SECRET, Scene, until } from '../inbox/scene.ts'
import { Bench, raise, request, watchRejections } from './support.ts'

watchRejections()

const NAMES = ['attempt', 'handlerName', 'rawBody', 'receivedAt', 'signal', 'source']

/** Runs one delivery on a bench, and returns the context that its handler got. */
async function contextOf(deliver: (bench: Bench) => Promise<unknown>, bench = new Bench()): Promise<HandlerContext> {
  const seen: HandlerContext[] = []
  bench.receiver.on('*', { name: 'save' }, (_event, context) => void seen.push(context))
  await deliver(bench)
  const [context] = seen
  if (context === undefined) throw new Error('no handler ran')
  return context
}

describe('the context of a handler', () => {
  const big =
    '{"id":"evt_1","type":"a.b","timestamp":"","accountKey":"acme","data":{"n": 9007199254740993, "é":"\\u00e9"}}'

  it('has all of its properties after a spread, a rest and Object.assign', async () => {
    const context = await contextOf((bench) => bench.send(big, { source: 'shop' }))
    const { handlerName, ...rest } = context
    for (const copy of [{ ...context }, { handlerName, ...rest }, Object.assign({}, context)]) {
      expect(Object.keys(copy).sort()).toEqual(NAMES)
      expect(copy).toMatchObject({ handlerName: 'save', source: 'shop', rawBody: big })
      expect(copy.signal).toBe(context.signal)
      expect(copy.signal).toBeInstanceOf(AbortSignal)
    }
  })

  it('has the text that was signed, to its last digit and escape', async () => {
    for (const deliver of [
      (bench: Bench) => bench.send(big),
      (bench: Bench) => bench.receiver.handle(request(big)),
      (bench: Bench) => bench.send(Buffer.from(big)),
    ])
      expect((await contextOf(deliver)).rawBody).toBe(big)
  })

  it('of a dispatched event has neither text nor source, and the first attempt, which may be the last', async () => {
    const context = await contextOf((bench) => bench.receiver.dispatch(events.contact.created()))
    const attempt = { number: 1, isLast: undefined }
    expect(context).toMatchObject({ rawBody: undefined, receivedAt: expect.any(Number), source: undefined, attempt })
  })

  it('has the time at which the delivery came in, also if its handler began later', async () => {
    const bench = new Bench()
    await bench.clock.advance(5_000)
    const at = bench.clock.now()
    const times: number[] = []
    bench.receiver.on('*', (_event, { receivedAt }) => void times.push(receivedAt))
    await bench.send(events.contact.created())
    await bench.send(events.contact.created(), { receivedAt: at - 700.4 })
    await bench.send(events.contact.created(), { receivedAt: at - 60_000 }) // longer ago than the deadline
    await bench.send(events.contact.created(), { receivedAt: at + 500 })
    await bench.send(events.contact.created(), { receivedAt: at / 1_000 }) // seconds: reported
    await bench.receiver.handle(request(events.contact.created()))
    await bench.receiver.dispatch(events.contact.created())
    expect(times).toEqual([at, at - 700, at - 60_000, at, at, at, at])
  })
})

describe('with an inbox, the context', () => {
  it('counts the tries as the worker does, and says which is the last', async () => {
    const scene = new Scene()
    const tries: unknown[] = []
    let isRepaired = false
    scene.receiver.on('*', (_event, { attempt }) => {
      tries.push(attempt)
      if (tries.length === 2) throw new RetryLater(1)
      if (!isRepaired) throw new Error('no')
    })
    await scene.deliver(events.contact.created())
    scene.work({ attempts: 3, delay: () => 0 })
    await until('it is dead', () => scene.dead.length === 1)
    const counted = (number: number, isLast = false) => ({ number, isLast })
    expect(tries).toEqual([counted(1), counted(2), counted(2), counted(3, true)])
    isRepaired = true
    await scene.inbox.replay(scene.dead[0]?.item.key ?? '')
    await scene.untilIdle()
    expect(tries.at(-1)).toEqual(counted(1))
  })

  it('has the text and the time of the first delivery of the event, in each try', async () => {
    const scene = new Scene()
    const seen: HandlerContext[] = []
    scene.receiver.on('*', (_event, context) => {
      seen.push({ ...context })
      if (seen.length < 3) raise(new Error('no'))()
    })
    const event = events.contact.created()
    const first = JSON.stringify(event).replace('}', ', "n": 9007199254740993}')
    const second = JSON.stringify({ ...event, n: 1 })
    const receivedAt = Date.now() - 60_000
    for (const [body, at] of [
      [first, receivedAt],
      [second, Date.now()],
    ] as const)
      await scene.receiver.receive({ ...signed(body, { secret: INBOX_SECRET }), receivedAt: at })
    scene.work()
    await scene.untilIdle()
    expect(seen.map(({ rawBody }) => rawBody)).toEqual([first, first, first])
    for (const context of seen) expect(Math.abs(context.receivedAt - receivedAt)).toBeLessThan(2)
  })
})

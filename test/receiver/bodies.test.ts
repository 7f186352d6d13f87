import type { SecretRequest } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import type { BodyFailure, BodyIntake } from '../../src/engine.ts'
import { Gate } from '../support/gate.ts'
import { atOnce, type Bench, counting, gated, request, SECRET, settle, watchRejections } from './support.ts'

watchRejections()

const KIB = 1_024
/** The lowest allowed `maxBufferedBytes` with a `maxBodyBytes` of up to 256 KiB. */
const LEAST = 1_024 * KIB
/** Neither store nor handlers wait, so that no event is under way beside the bodies. */
const TIGHT = { usual: atOnce, maxBodyBytes: 256 * KIB, maxBufferedBytes: LEAST }
/** The memory of a fragment in addition to its bytes. */
const FRAGMENT = 512

/** A request whose body arrives as the test says. */
class SlowRequest {
  readonly gate = new Gate<Uint8Array | BodyFailure>()
  cuts = 0
  intake: BodyIntake = { take: () => expect.unreachable('nothing was read yet'), reserve: () => false }
  readonly reply

  constructor(bench: Bench, options: Parameters<typeof request>[1] = {}) {
    const read = (_limit: number, intake: BodyIntake) => {
      this.intake = intake
      intake.onCut = () => this.cuts++
      return this.gate.promise
    }
    this.reply = bench.receiver.handle(request(events.contact.created(), { read, ...options }))
  }
}

/** Ends the bodies too soon, and returns how they are answered. */
function cutShort(...requests: readonly SlowRequest[]): Promise<number[]> {
  for (const { gate } of requests) gate.open({ failure: 'body_incomplete' })
  return Promise.all(requests.map(async ({ reply }) => (await reply).status))
}

const bytesOf = (event = events.contact.created()) =>
  request(event).read(1_048_576, { take: () => true, reserve: () => true }) as Uint8Array // request() sets them synchronously

/** Fills a receiver of {@link LEAST} to its last byte with two bodies, and then adds one byte. */
async function expectAllRoom(bench: Bench): Promise<void> {
  const [older, newer] = [new SlowRequest(bench), new SlowRequest(bench)]
  expect(older.intake.take(LEAST / 2 - FRAGMENT)).toBe(true)
  expect(newer.intake.take(LEAST / 2 - FRAGMENT)).toBe(true)
  expect([older.cuts, newer.cuts]).toEqual([0, 0])
  expect(newer.intake.take(1)).toBe(true)
  expect([older.cuts, newer.cuts]).toEqual([1, 0])
  expect(await cutShort(older, newer)).toEqual([408, 400])
}

describe('the fragments of a body', () => {
  it('may cost four times maxBodyBytes with the objects that keep them', async () => {
    const { bench } = counting({ maxBodyBytes: 1_024 * KIB })
    const slow = new SlowRequest(bench)
    const most = Math.floor((4 * 1_024 * KIB) / (1 + FRAGMENT))
    for (let count = 0; count < most; count++) expect(slow.intake.take(1)).toBe(true)
    expect(slow.intake.take(1)).toBe(false)
    expect(slow.intake.take(1)).toBe(false)
    expect(await slow.reply).toMatchObject({ status: 413, body: '{"code":"body_too_large"}' })
    expect(bench.outcomes[0]).toMatchObject({ reason: expect.stringContaining('small fragments') })
    expect(slow.cuts).toBe(1)
    slow.gate.open(bytesOf())
  })

  it('that arrive too late do not count, and neither does a value that an adapter returns for a body that was cut', async () => {
    const { bench } = counting(TIGHT)
    const [done, cut] = [new SlowRequest(bench), new SlowRequest(bench)]
    done.gate.open(bytesOf())
    expect((await done.reply).status).toBe(401) // the bytes of another event
    expect(cut.intake.take(LEAST)).toBe(false)
    expect((await cut.reply).status).toBe(413)
    cut.gate.open(undefined as never) // an adapter in plain JavaScript
    for (const { intake } of [done, cut])
      expect([intake.take(500 * KIB), intake.reserve(500 * KIB)]).toEqual([false, false])
    await expectAllRoom(bench)
    expect(bench.codes).toEqual([])
  })
})

describe('maxBufferedBytes', () => {
  it('cuts the oldest incomplete body: a well-behaved sender is done in milliseconds', async () => {
    const { bench, runs } = counting(TIGHT)
    const [oldest, second] = [new SlowRequest(bench), new SlowRequest(bench)]
    expect(oldest.intake.take(400 * KIB)).toBe(true)
    expect(second.intake.take(400 * KIB)).toBe(true)
    const honest = new SlowRequest(bench)
    expect(honest.intake.take(300 * KIB)).toBe(true)
    expect(await oldest.reply).toMatchObject({ status: 408, body: '{"code":"overloaded"}', close: true })
    expect(bench.lines[0]?.message).toMatch(/delivery deferred: bodies that wait .* use up maxBufferedBytes.*Raise it/)
    expect([oldest.cuts, second.cuts, honest.cuts]).toEqual([1, 0, 0])
    expect(oldest.intake.take(1)).toBe(false)
    expect((await bench.receiver.handle(request(events.contact.created()))).status).toBe(200)
    expect(runs()).toBe(1)
    expect(await cutShort(oldest, second, honest)).toEqual([408, 400, 400])
  })

  it('is eight times maxBodyBytes by default, if that is more than 64 MiB', async () => {
    const { bench } = counting({ maxBodyBytes: 16_384 * KIB })
    const slow = [new SlowRequest(bench), new SlowRequest(bench), new SlowRequest(bench)]
    for (const { intake } of slow) expect(intake.take(32_768 * KIB)).toBe(true)
    expect(slow.map(({ cuts }) => cuts)).toEqual([0, 0, 0])
    await cutShort(...slow)
  })

  it('is fully available again after any outcome of a body', async () => {
    const { bench } = counting(TIGHT)
    for (let round = 0; round < 3; round++) {
      const [older, newer] = [new SlowRequest(bench), new SlowRequest(bench)]
      expect(older.intake.reserve(100 * KIB)).toBe(true)
      expect(older.intake.take(800 * KIB)).toBe(true)
      expect(older.intake.take(200 * KIB)).toBe(false) // the oldest is the body itself
      expect(newer.intake.take(500 * KIB)).toBe(true)
      newer.gate.open(round === 0 ? bytesOf() : { failure: 'body_incomplete' })
      older.gate.open({ failure: 'body_incomplete' })
      await Promise.all([older.reply, newer.reply])
      const read = (_limit: number, intake: BodyIntake) => {
        intake.take(100 * KIB)
        throw new Error('reset')
      }
      expect((await bench.receiver.handle(request(events.contact.created(), { read }))).status).toBe(500)
    }
    await expectAllRoom(bench)
  })

  it('counts whole bodies while their secrets are looked up, and refuses those that do not fit beside them', async () => {
    const gate = new Gate<string>()
    const { bench, runs } = counting({ ...TIGHT, secret: () => gate.promise })
    const large = () => bytesOf(events.contact.created({ firstName: 'x'.repeat(240 * KIB) }))
    const sent = Array.from({ length: 4 }, () => bench.send(large()))
    expect(await bench.send(large())).toMatchObject({ outcome: 'overloaded', status: 503 })
    const slow = new SlowRequest(bench)
    expect(slow.intake.take(40 * KIB)).toBe(false)
    expect((await slow.reply).status).toBe(408)
    gate.open(SECRET)
    for (const each of sent) expect(await each).toMatchObject({ outcome: 'handled' })
    expect(await bench.send(large())).toMatchObject({ outcome: 'handled' })
    expect(runs()).toBe(5)
    await cutShort(slow)
  })

  it('begins no look-up of secrets that it has no room for, and keeps no body of one', async () => {
    const gate = new Gate<string>()
    const [requests, seen]: [SecretRequest[], unknown[]] = [[], []]
    const secret = (request: SecretRequest) => {
      requests.push(request)
      return gate.promise
    }
    const { bench } = counting({ ...TIGHT, secret })
    const sent = Array.from({ length: 300 }, () => bench.send(events.contact.created()))
    await settle()
    const refused = bench.outcomes.filter(({ outcome }) => outcome === 'overloaded').length
    expect(refused).toBeGreaterThan(100)
    expect(requests).toHaveLength(300 - refused)
    const [first, second] = await Promise.all([bench.send(bytesOf()), bench.send(bytesOf())])
    expect(first).toMatchObject({ outcome: 'overloaded', status: 503 })
    expect(first).not.toBe(second) // apps may change the values that they get
    gate.open(SECRET)
    await Promise.all(sent)
    for (const request of requests) seen.push(request.claimedAccountKey)
    expect(new Set(seen)).toEqual(new Set([undefined])) // their bodies are freed
  })

  it('lets a host that keeps fragments itself reserve their cost, up to half of it', async () => {
    const { bench } = counting(TIGHT)
    const [first, second] = [new SlowRequest(bench), new SlowRequest(bench)]
    expect(first.intake.reserve(400 * KIB)).toBe(true)
    expect(second.intake.reserve(200 * KIB)).toBe(false)
    expect(second.intake.reserve(100 * KIB)).toBe(true)
    await cutShort(first)
    const third = new SlowRequest(bench)
    for (const bytes of [-1, Number.NaN]) expect(third.intake.reserve(bytes)).toBe(false) // an adapter in plain JavaScript
    expect(third.intake.reserve(0)).toBe(true)
    expect(third.intake.reserve(412 * KIB)).toBe(true)
    expect(await cutShort(second, third)).toEqual([400, 400])
  })
})

describe('an incomplete body while the receiver closes', () => {
  it('is cut immediately if no event runs', async () => {
    const { bench } = counting()
    const slow = new SlowRequest(bench)
    expect(await bench.receiver.close()).toEqual({ unfinished: 0 })
    expect(await slow.reply).toMatchObject({ status: 503, body: '{"code":"closing"}' })
    expect(slow.cuts).toBe(1)
    expect(bench.outcomes).toMatchObject([{ outcome: 'closing' }])
  })

  it('is awaited while an event runs, which it may join, and cut when that ends', async () => {
    const { bench, gate, runs } = gated()
    const event = events.contact.created()
    const first = bench.send(event)
    const duplicate = new SlowRequest(bench, { header: request(event).header })
    const other = new SlowRequest(bench)
    await settle()
    const closing = bench.receiver.close()
    const late = new SlowRequest(bench)
    await bench.clock.advance(1_000)
    duplicate.gate.open(bytesOf(event))
    await settle()
    expect([other.cuts, late.cuts]).toEqual([0, 0])
    gate.open(undefined)
    expect(await closing).toEqual({ unfinished: 0 })
    expect(await first).toMatchObject({ outcome: 'handled' })
    expect((await duplicate.reply).status).toBe(200)
    for (const { reply } of [other, late])
      expect(await reply).toMatchObject({ body: '{"code":"closing"}', close: true, drainMs: 2_000 })
    expect(runs).toEqual([event.id])
  })
})

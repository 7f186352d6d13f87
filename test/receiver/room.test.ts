import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Room } from '../../src/receiver/runs.ts'

const MIB = 1_048_576
const OPTIONS = { maxInFlight: 1_000, maxBufferedBytes: 64 * MIB }
const QUARTER = 16 * MIB
/** Events by the bytes that they count for, small and large: up to 1 MiB with 12 handlers. */
const cost = fc.oneof(
  fc.integer({ min: 1, max: 20_000 }),
  fc.integer({ min: 1, max: 12 * MIB }),
  fc.constantFrom(MIB, 8 * MIB),
)
/** Begins an event, or ends one of those under way. */
const step = fc.oneof(
  { arbitrary: fc.record({ begin: cost, account: fc.constantFrom('acme', 'globex', 'initech') }), weight: 3 },
  { arbitrary: fc.record({ end: fc.nat() }), weight: 1 },
)

interface Load {
  readonly accountKey: string
  readonly bytes: number
}

/** Plays the steps, and returns what is under way at their end. */
function play(room: Room, steps: Iterable<{ begin: number; account: string } | { end: number }>): Load[] {
  const underWay: Load[] = []
  for (const each of steps) {
    if ('end' in each) {
      const [ended] = underWay.splice(each.end % Math.max(underWay.length, 1), 1)
      if (ended !== undefined) room.remove(ended)
      continue
    }
    const load = { accountKey: each.account, bytes: each.begin }
    if (room.whyNone(load) !== undefined) continue
    room.add(load)
    underWay.push(load)
  }
  return underWay
}

const ofOne = fc.array(step, { maxLength: 200 }).map((steps) => steps.map((each) => ({ ...each, account: 'acme' })))

describe('the room for events under way', () => {
  it('is bounded, and empty again when all have ended', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const room = new Room(OPTIONS)
        const underWay = play(room, steps)
        let counted = 0
        for (const account of ['acme', 'globex', 'initech']) {
          const loads = underWay.filter(({ accountKey }) => accountKey === account).map(({ bytes }) => bytes)
          const [largest = 0, ...others] = loads.sort((a, b) => b - a)
          counted += others.reduce((sum, bytes) => sum + bytes, Math.min(largest, QUARTER / 6))
        }
        expect(counted).toBeLessThanOrEqual(QUARTER)
        for (const load of underWay) room.remove(load)
        expect(room).toEqual(new Room(OPTIONS))
      }),
    )
  })

  it('is never filled by one account, whatever its events are: any event of another account fits', () => {
    fc.assert(
      fc.property(ofOne, cost, cost, (steps, first, second) => {
        const room = new Room(OPTIONS)
        play(room, steps)
        expect(room.whyNone({ accountKey: 'globex', bytes: first })).toBeUndefined()
        room.add({ accountKey: 'globex', bytes: first })
        expect(room.whyNone({ accountKey: 'initech', bytes: second })).toBeUndefined()
      }),
    )
  })
})

import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/host/clock.ts'
import { createClock } from '../../tools/emulator/clock.ts'

/** A clock at 1000 ms, and a list of its moves. */
function make(given: Parameters<typeof createClock>[0], nextDueAt?: number) {
  const moves: number[] = []
  const clock = createClock(given, 1_000, { nextDueAt: () => nextDueAt, onMove: (now) => moves.push(now), warn() {} })
  return { clock, moves }
}

describe('the clock of the emulator', () => {
  it('cannot be moved if it is a custom clock that does not stand still', async () => {
    const running = { ...systemClock, advance() {}, next() {} }
    const { clock, moves } = make(running)
    expect(clock.isManual).toBe(false)
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(60_000)
    const error = { code: 'option_invalid', message: expect.stringContaining('clock: "manual"') }
    await expect(clock.advance(1)).rejects.toMatchObject(error)
    await expect(clock.next()).rejects.toMatchObject(error)
    clock.track(Promise.resolve())
    expect(moves).toEqual([])
  })

  it('stays for a plan that is overdue, and says so', async () => {
    const { clock, moves } = make('manual', 400)
    expect([await clock.next(), clock.now()]).toEqual([true, 1_000])
    expect(moves).toEqual([1_000, 1_000])
  })

  it('makes moves that were requested together one after the other, and the rest after one that was refused', async () => {
    const { clock, moves } = make('manual')
    const all = await Promise.allSettled([clock.advance(10), clock.advance('soon'), clock.next(), clock.advance(5)])
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(moves).toEqual([1_010, 1_010, 1_015])
  })
})

import type { Claim } from 'postern'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { LostClaims } from '../../../adapters/stores/lost-claims.ts'
import { Gate } from '../../support/gate.ts'

const LEASE_MS = 5_000

describe('a claim that was given up', () => {
  it('is released until the engine accepts it, even if its answer came after the lease would have ended', async () => {
    const clock = manualClock()
    let isThere = true
    const given: number[] = []
    const start = clock.monotonic()
    const giveBack = async () => {
      if (!isThere) throw new Error('the engine is away')
      given.push(clock.monotonic() - start)
    }
    const lost = new LostClaims(giveBack, clock)
    const asking = new Gate<Claim>()
    const claiming = lost.watch('key', 'token', LEASE_MS, asking.promise)
    const refused = expect(claiming).rejects.toThrow('no answer within 3000 ms')
    await clock.advance(6_000)
    await refused
    isThere = false
    given.length = 0
    asking.open({ state: 'claimed', token: 'token', marks: [] }) // the engine has processed it only now
    await clock.advance(3_000)
    isThere = true
    await clock.advance(3_000)
    expect(given.length).toBeGreaterThan(0)
  })
})

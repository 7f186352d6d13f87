import fc from 'fast-check'
import type { Store } from 'postern'
import { storeSuite } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { compareByHand, steps } from '../store/store-steps.ts'
import { runs } from '../support/runs.ts'
import { Engine } from './engine.ts'

const DEFAULT_RETENTION_MS = 604_800_000

/** The simulated engine as a store, with its own tokens. */
function toStore(engine: Engine): Store {
  return {
    retentionMs: engine.retentionMs,
    keepsPositions: true,
    claim: (key, ...rest) => engine.claim(key, `token-${++tokens}`, ...rest),
    renew: (...given) => engine.renew(...given),
    complete: (...given) => engine.complete(...given),
    release: (...given) => engine.release(...given),
  }
}

let tokens = 0
const CLAIM = { key: 'key', token: 'a', mark: 'mark' }

describe('the simulated engine', () => {
  let now = 0
  const engines = new Map<number, Engine>()
  const engineOf = (retentionMs: number) => {
    const engine = engines.get(retentionMs) ?? new Engine(() => now, retentionMs)
    engines.set(retentionMs, engine)
    return engine
  }
  const cases = storeSuite(({ retentionMs = DEFAULT_RETENTION_MS }) => toStore(engineOf(retentionMs)), {
    pass: (ms) => {
      now += ms
    },
  })
  for (const { name, run } of cases) it(name, run)

  it('behaves like the model of a store, whatever the sequence', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        let time = 0
        const pass = (ms: number) => {
          time += ms
        }
        await compareByHand(toStore(new Engine(() => time, DEFAULT_RETENTION_MS)), pass, taken)
      }),
      runs(100),
    )
  })

  it('answers a repeated claim as the first time', () => {
    const engine = new Engine(() => 0, DEFAULT_RETENTION_MS)
    const claimed = engine.claim('key', 'a', 1_000)
    expect(engine.claim('key', 'a', 1_000)).toEqual(claimed)
    expect(engine.claim('key', 'b', 1_000)).toEqual({ state: 'busy' })
  })

  it.each([
    ['another token claimed last', (engine: Engine) => void engine.claim('key', 'b', 1)],
    ['the event is done', (engine: Engine) => void engine.complete('key', 'a')],
    ['the mark is there', (engine: Engine) => void engine.renew('key', 'a', 1, ['mark'])],
  ])('commits nothing if %s', (_why, before) => {
    let now = 0
    const engine = new Engine(() => now, DEFAULT_RETENTION_MS)
    engine.claim('key', 'a', 1_000)
    now = 2_000
    before(engine)
    expect(engine.commit(CLAIM, () => expect.unreachable('it is fenced'))).toBe('lease_lost')
  })

  it('commits row and mark together, even after the lease', () => {
    let now = 0
    const rows: string[] = []
    const engine = new Engine(() => now, DEFAULT_RETENTION_MS)
    engine.claim('key', 'a', 1_000)
    now = 2_000
    const write = () => {
      rows.push('row')
      return () => void rows.pop()
    }
    expect(engine.commit(CLAIM, write)).toBe('committed')
    expect(rows).toEqual(['row'])
    expect(engine.claim('key', 'b', 1_000)).toEqual({ state: 'claimed', token: 'b', marks: ['mark'] })
  })
})

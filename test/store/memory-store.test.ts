import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { memoryStore } from 'postern'
import { storeSuite } from 'postern/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { dedupKey } from '../../src/protocol/dedup-key.ts'
import { type Line, linesInto } from '../receiver/support.ts'

type MemoryStoreOptions = Exclude<Parameters<typeof memoryStore>[0], undefined>

const HOUR = 3_600_000
const LEASE_MS = 15_000

interface Subject {
  readonly store: ReturnType<typeof memoryStore>
  readonly pass: (ms: number) => void
}

function makeSubject(options?: MemoryStoreOptions): Subject {
  const { pass, ...clock } = makeClock()
  return { store: memoryStore({ clock, ...options }), pass }
}

function makeClock() {
  let time = 0
  const pass = (ms: number) => {
    time += ms
  }
  return { monotonic: () => time, pass }
}

/** Claims a key that is free. */
function claimFree(store: ReturnType<typeof memoryStore>, key: string, leaseMs: number) {
  const claim = store.claim(key, leaseMs)
  if (claim instanceof Promise || claim.state !== 'claimed') throw new Error(`${key} is known`)
  return claim
}

function completeNew(store: ReturnType<typeof memoryStore>, account: string, count: number, from = 0): void {
  for (let index = from; index < from + count; index++) {
    const key = dedupKey('default', account, `evt_${index}`)
    const claim = claimFree(store, key, LEASE_MS)
    store.complete(key, claim.token)
  }
}

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

/** A store, and the lines that it reports. */
function makeReporting(options?: MemoryStoreOptions) {
  const { store } = makeSubject(options)
  const lines: Line[] = []
  store.reportTo?.(linesInto(lines))
  return { store, lines }
}

describe('the contract of a store', () => {
  const { pass, ...clock } = makeClock()
  for (const { name, run } of storeSuite((options) => memoryStore({ clock, ...options }), { pass, isShared: false }))
    it(name, run)
})

describe('the clock', () => {
  it.each([0, 0.4, 0.5, 1e9 + 0.4])('forgets after the retention, not a moment sooner, from %d on', (start) => {
    const { store, pass } = makeSubject({ retentionMs: 3 * HOUR })
    pass(start)
    completeNew(store, 'acme', 1)
    const key = dedupKey('default', 'acme', 'evt_0')
    pass(3 * HOUR)
    expect(store.claim(key, LEASE_MS)).toEqual({ state: 'done' })
    pass(1)
    expect(store.claim(key, LEASE_MS)).toMatchObject({ state: 'claimed' })
  })

  it("is the machine's monotonic one by default, which wall time cannot move", () => {
    const store = memoryStore()
    completeNew(store, 'acme', 1)
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 30 * 24 * HOUR)
    expect(store.claim(dedupKey('default', 'acme', 'evt_0'), LEASE_MS)).toEqual({ state: 'done' })
  })

  afterEach(() => vi.restoreAllMocks())
})

describe('the bound', () => {
  it('keeps 100,000 events for 7 days by default', () => {
    const { store, pass } = makeSubject()
    completeNew(store, 'acme', 100_000)
    pass(7 * 24 * HOUR - 1)
    expect(store.earlyDrops).toBe(0)
    for (const index of [0, 50_000, 99_999])
      expect(store.claim(dedupKey('default', 'acme', `evt_${index}`), LEASE_MS)).toEqual({ state: 'done' })
    expect(store.retentionMs).toBe(7 * 24 * HOUR)
  })

  it('drops the oldest ids, and counts them', () => {
    const { store } = makeSubject({ max: 10 })
    completeNew(store, 'acme', 13)
    expect(store.earlyDrops).toBe(3)
    const states = Array.from({ length: 13 }, (_, index) => {
      const claim = store.claim(dedupKey('default', 'acme', `evt_${index}`), LEASE_MS)
      return claim instanceof Promise ? 'late' : claim.state
    })
    expect(states).toEqual([...Array(3).fill('claimed'), ...Array(10).fill('done')])
  })

  it('holds positions as well, oldest first, and counts what it drops', () => {
    const { store } = makeSubject({ max: 10 })
    const keys = Array.from({ length: 13 }, (_, index) => `7:default4:acme@${index}`)
    for (const [index, key] of keys.entries()) store.renew('event', 'token', LEASE_MS, [], [{ key, at: index }])
    const find = () => store.claim(`event ${Math.random()}`, LEASE_MS, keys)
    expect(store.earlyDrops).toBe(3)
    const expected = keys.map((_, index) => (index < 3 ? undefined : index))
    expect(find()).toMatchObject({ positions: expected })
    completeNew(store, 'acme', 2)
    expect(find()).toMatchObject({ positions: expected.map((at) => (at === 3 || at === 4 ? undefined : at)) })
  })

  it('does not count expired ids', () => {
    const { store, pass } = makeSubject({ max: 10, retentionMs: 1_000 })
    completeNew(store, 'acme', 10)
    pass(1_001)
    completeNew(store, 'acme', 10, 10)
    expect(store.earlyDrops).toBe(0)
    completeNew(store, 'acme', 1, 20)
    expect(store.earlyDrops).toBe(1)
  })

  it('does not count, nor make room for, attempts without a result', () => {
    const { store } = makeSubject({ max: 1 })
    completeNew(store, 'acme', 1)
    for (const key of ['a', 'b', 'c']) {
      const claim = claimFree(store, key, LEASE_MS)
      store.release(key, claim.token, [])
    }
    expect(store.earlyDrops).toBe(0)
    expect(store.claim(dedupKey('default', 'acme', 'evt_0'), LEASE_MS)).toEqual({ state: 'done' })
  })

  it('never drops live claims, nor their marks', () => {
    const { store } = makeSubject({ max: 2 })
    const half = claimFree(store, 'half', LEASE_MS)
    store.renew('half', half.token, LEASE_MS, ['a'])
    for (let index = 0; index < 5_000; index++) store.claim(`live-${index}`, LEASE_MS)
    completeNew(store, 'flood', 5_000)
    for (let index = 0; index < 5_000; index++)
      expect(store.claim(`live-${index}`, LEASE_MS)).toEqual({ state: 'busy' })
    expect(store.release('half', half.token, ['b'])).toBe(true)
    expect(store.claim('half', LEASE_MS)).toMatchObject({ state: 'claimed', marks: ['a', 'b'] })
  })

  it('drops claims that were not renewed', () => {
    const { store, pass } = makeSubject({ max: 1 })
    const held = heapAfterCollection()
    for (let round = 0; round < 200; round++) {
      for (let index = 0; index < 1_024; index++) store.claim(`${round}-${index}-${'x'.repeat(300)}`, 1_000)
      pass(1_001)
    }
    // 200,000 of them would be more than 60 MB; at most two rounds of them are left.
    expect(heapAfterCollection() - held).toBeLessThan(10_000_000)
    // The store is used once more: otherwise it would be collected as a whole, whatever it holds.
    expect(store.claim('key', 1_000)).toMatchObject({ state: 'claimed' })
  })
})

describe('what it reports', () => {
  beforeEach(() => vi.stubEnv('NODE_ENV', 'test'))
  afterEach(() => vi.unstubAllEnvs())

  it('reports once that it is full, and names the account that filled it', () => {
    const { store, lines } = makeReporting({ max: 100, retentionMs: 24 * HOUR })
    completeNew(store, 'acme', 20)
    completeNew(store, 'flooding-tenant', 79)
    expect(lines).toEqual([])
    completeNew(store, 'acme', 500, 1_000)
    expect(lines).toHaveLength(1)
    const [line] = lines
    expect(line?.fields).toEqual({ max: 100, accountKey: 'flooding-tenant', share: 0.79 })
    expect(line?.message).toMatch(/full.* 24 h .*"flooding-tenant" fills 79 %.*Raise max/)
    expect(store.earlyDrops).toBe(499)
  })

  it.each(['účet', 'x'.repeat(200), 'a b'])(
    'counts the ids of account %j together, even if only its digest is kept',
    (account) => {
      const { store, lines } = makeReporting({ max: 10 })
      completeNew(store, 'š', 3)
      completeNew(store, account, 5)
      completeNew(store, 'acme', 3)
      expect(lines.map(({ fields }) => fields)).toEqual([{ max: 10, accountKey: undefined, share: 0.5 }])
      expect(lines[0]?.message).toContain('not printable ASCII, fills 50 %')
    },
  )

  it.each([
    ['production', 1],
    ['development', 0],
    ['', 0],
  ])('with NODE_ENV=%s reports %i times that it is for one process, once there is an event', (environment, times) => {
    vi.stubEnv('NODE_ENV', environment)
    const { store, lines } = makeReporting()
    expect(lines).toEqual([])
    completeNew(store, 'acme', 3_000)
    expect(lines).toHaveLength(times)
    for (const { message } of lines) expect(message).toMatch(/this process only/)
  })
})

describe('on a host that hides its environment', () => {
  afterEach(() => vi.unstubAllGlobals())

  it.each([
    ['has no process', undefined],
    [
      'forbids to read it',
      {
        get env() {
          throw new Error('Requires env access')
        },
      },
    ],
  ])('works if it %s, and treats it as none in production', (_what, process) => {
    const { store, lines } = makeReporting()
    vi.stubGlobal('process', process)
    expect(store.claim('key', LEASE_MS)).toMatchObject({ state: 'claimed' })
    expect(lines).toEqual([])
  })
})

describe('the options', () => {
  it.each([
    ['option_unknown', 'ttl', { max: 10, ttl: 10 }],
    ...[0, 10_000_001].map((max) => ['option_invalid', 'max', { max }] as const),
    ...[0, Infinity].map((retentionMs) => ['option_invalid', 'retentionMs', { retentionMs }] as const),
  ] as const)('are refused with %s if "%s" cannot work: %o', (code, option, options) => {
    const refusal = { code, message: expect.stringContaining(option) }
    expect(() => memoryStore(options)).toThrow(expect.objectContaining(refusal))
  })

  it('are all optional', () => {
    expect(memoryStore({}).retentionMs).toBe(7 * 24 * HOUR)
    expect(memoryStore({ max: 1, retentionMs: 1 }).retentionMs).toBe(1)
  })
})

import { randomUUID } from 'node:crypto'
import type { Claim, Store } from 'postern'
import { storeSuite } from 'postern/testing'
import { describe, expect, it } from 'vitest'

/** Faults of a custom store, each in one line. */
const FAULTS = [
  'gives the same token twice',
  'lets anybody complete',
  'lets anybody renew',
  'lets anybody release',
  'cannot complete once its lease has ended',
  'cannot repeat a release',
  'holds claims for ever',
  'adds the new lease to the old one',
  'renews what is done',
  'is undone by a late release',
  'loses the marks of a renewal',
  'replaces marks',
  'keeps marks of another',
  'keeps the list that it was given',
  'forgets too early',
  'never forgets',
  'claims in two steps',
  'looks keys up in an object',
  'cuts keys off',
  'ignores case',
  'goes by the clock of its process',
  'shares nothing',
  'moves positions back',
  'refuses an equal position',
  'compares positions as text',
  'rounds positions to seconds',
  'forgets positions too early',
  'never forgets positions',
  'keeps a position from its first move only',
  'advances in two steps',
  'ignores case in positions',
  'returns the positions that there are, and no others',
  'counts the lifetime of positions by the clock of its process',
  'shares no positions',
  'says nothing of a later position',
  'has positions and no advance',
] as const
type Fault = (typeof FAULTS)[number] | 'none'

interface Row {
  done: boolean
  token: string | undefined
  until: number
  forgetAt: number
  marks: readonly string[]
}

/** The contract over one Map, with one fault at most. */
function makeStores(fault: Fault) {
  let time = 0
  const is = (other: Fault) => fault === other
  const now = () => time + (is('goes by the clock of its process') ? Date.now() : 0)
  const shared = new Map<string, Row>()
  const sharedPlaces = new Map<string, { readonly at: number; readonly until: number }>()
  const makeStore = ({ retentionMs = 7 * 24 * 3_600_000 }: { readonly retentionMs?: number }): Store => {
    const rows = is('shares nothing') ? new Map<string, Row>() : shared
    const object: Record<string, Row> = {}
    const find = (given: string): Row => {
      let key = is('cuts keys off') ? given.slice(0, 255) : given
      if (is('ignores case')) key = key.toLowerCase()
      const known = is('looks keys up in an object') ? object[key] : rows.get(key)
      const isKnown = known !== undefined && (is('never forgets') || known.forgetAt > now())
      const row = isKnown ? known : { done: false, token: undefined, until: 0, forgetAt: 0, marks: [] }
      if (is('looks keys up in an object')) object[key] = row
      else rows.set(key, row)
      return row
    }
    const isFenced = (row: Row, token: string) => row.token !== token && row.until > now()
    const keepFor = is('forgets too early') ? retentionMs / 3 : retentionMs
    const hold = (row: Row, token: string, leaseMs: number) => {
      const from = is('adds the new lease to the old one') ? Math.max(row.until, now()) : now()
      const until = is('holds claims for ever') ? Number.POSITIVE_INFINITY : from + leaseMs
      Object.assign(row, { token, until, forgetAt: until + keepFor })
    }
    const add = (row: Row, marks: readonly string[]) => {
      if (is('keeps the list that it was given') && row.marks.length === 0) row.marks = marks
      else row.marks = is('replaces marks') ? [...marks] : [...new Set([...row.marks, ...marks])]
    }
    const places = is('shares no positions') ? new Map<string, { at: number; until: number }>() : sharedPlaces
    const placeTime = () => time + (is('counts the lifetime of positions by the clock of its process') ? Date.now() : 0)
    const toPlaceKey = (key: string) => (is('ignores case in positions') ? key.toLowerCase() : key)
    const findPlace = (key: string) => {
      const place = places.get(toPlaceKey(key))
      return place !== undefined && (place.until > placeTime() || is('never forgets positions')) ? place : undefined
    }
    const isLater = (known: number, at: number) => {
      if (is('moves positions back')) return false
      if (is('compares positions as text')) return String(known) > String(at)
      return is('refuses an equal position') ? known >= at : known > at
    }
    const positions = async (keys: readonly string[]) => {
      const found = keys.map((key) => findPlace(key)?.at)
      return is('returns the positions that there are, and no others') ? found.filter((at) => at !== undefined) : found
    }
    const advance = async (key: string, at: number) => {
      const known = findPlace(key)
      if (is('advances in two steps')) await undefined
      if (known !== undefined && isLater(known.at, at)) return is('says nothing of a later position')
      const forMs = is('forgets positions too early') ? retentionMs / 3 : retentionMs
      const isKept = is('keeps a position from its first move only') && known !== undefined
      places.set(toPlaceKey(key), {
        at: is('rounds positions to seconds') ? Math.floor(at / 1_000) * 1_000 : at,
        until: isKept ? known.until : placeTime() + forMs,
      })
      return true
    }
    return {
      retentionMs,
      positions,
      ...(!is('has positions and no advance') && { advance }),
      async claim(key, leaseMs): Promise<Claim> {
        const row = find(key)
        if (row.done) return { state: 'done' }
        if (row.until > now()) return { state: 'busy' }
        if (is('claims in two steps')) await undefined
        const token = is('gives the same token twice') ? 'token' : randomUUID()
        hold(row, token, leaseMs)
        return { state: 'claimed', token, marks: [...row.marks] }
      },
      async renew(key, token, leaseMs, marks) {
        const row = find(key)
        if (isFenced(row, token) && !is('lets anybody renew')) return false
        if (row.done && !is('renews what is done')) return false
        hold(row, token, leaseMs)
        if (!is('loses the marks of a renewal')) add(row, marks)
        return true
      },
      async complete(key, token) {
        const row = find(key)
        if (isFenced(row, token) && !is('lets anybody complete')) return false
        if (is('cannot complete once its lease has ended') && row.until <= now()) return false
        Object.assign(row, { done: true, until: 0, forgetAt: now() + keepFor })
        return true
      },
      async release(key, token, marks) {
        const row = find(key)
        if (is('keeps marks of another')) add(row, marks)
        if (isFenced(row, token) && !is('lets anybody release')) return false
        if (is('cannot repeat a release') && row.until === 0) return false
        if (row.done && !is('is undone by a late release')) return true
        add(row, marks)
        Object.assign(row, { done: false, until: 0, forgetAt: now() + keepFor })
        return true
      },
    }
  }
  const pass = (ms: number) => {
    time += ms
  }
  return { makeStore, pass }
}

/** Returns the names of the failing cases. */
async function judge(fault: Fault): Promise<readonly string[]> {
  const { makeStore, pass } = makeStores(fault)
  const failed: string[] = []
  for (const { name, run } of storeSuite(makeStore, { pass })) await run().catch(() => failed.push(name))
  return failed
}

describe('the store suite', () => {
  it('accepts a store without a fault', async () => {
    expect(await judge('none')).toEqual([])
  })

  it.each(FAULTS)('notices a store that %s', async (fault) => {
    expect(await judge(fault)).not.toEqual([])
  })
})

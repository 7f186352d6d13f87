import { randomUUID } from 'node:crypto'
import type { Claim, Store } from 'postern'

/** Faults of a custom store, each in one line. */
export type Fault =
  | 'gives the same token twice'
  | 'gives the token of before after a release'
  | 'numbers the claims of each key'
  | 'gives empty tokens'
  | 'gives tokens as bytes'
  | 'lets anybody complete'
  | 'lets anybody renew'
  | 'lets anybody release'
  | 'lengthens the claim of another, though it says no'
  | 'cannot complete once its lease has ended'
  | 'cannot renew once its lease has ended'
  | 'cannot complete what it does not know'
  | 'cannot repeat a complete'
  | 'cannot repeat a release'
  | 'holds claims for ever'
  | 'ends claims early'
  | 'ends a released claim with its lease'
  | 'adds the new lease to the old one'
  | 'renews what is done'
  | 'is undone by a late release'
  | 'forgets what is done with its lease'
  | 'loses the marks of a renewal'
  | 'loses the marks of a release'
  | 'loses the marks of a late release'
  | 'replaces marks'
  | 'keeps marks of another'
  | 'keeps marks that another renews with'
  | 'keeps the list that it was given'
  | 'joins marks by commas'
  | 'keeps a hundred marks at most'
  | 'says another retention'
  | 'forgets too early'
  | 'counts the retention from the first claim'
  | 'forgets at once what it should keep for months'
  | 'forgets a claim that lives for longer than the retention'
  | 'never forgets'
  | 'claims in two steps'
  | 'looks keys up in an object'
  | 'knows what every object has'
  | 'cuts keys off'
  | 'ignores case'
  | 'goes by the clock of its process'
  | 'compares times with the clock of its process'
  | 'shares nothing'
  | 'moves positions back'
  | 'refuses an equal position'
  | 'compares positions as text'
  | 'rounds positions to seconds'
  | 'forgets positions too early'
  | 'never forgets positions'
  | 'keeps a position from its first move only'
  | 'advances in two steps'
  | 'ignores case in positions'
  | 'returns the positions that there are, and no others'
  | 'counts the lifetime of positions by the clock of its process'
  | 'shares no positions'
  | 'says nothing of a later position'
  | 'has positions and no advance'
  | 'forgets positions with the claim'
  | 'answers while its engine is away'
  | 'comes back without its claims'
  | 'comes back with other holders'
  | 'holds what it claimed late for ever'
  | 'cannot release what it claimed late'
  | 'never finds its engine again'

/** Oddities that the contract allows. */
export type Oddity =
  | 'none'
  | 'loses the answer to a late claim'
  | 'refuses calls until its engine is back for a while'
  | 'returns marks in another order'

interface Row {
  claims?: number
  done: boolean
  token: string | undefined
  until: number
  forgetAt: number
  marks: readonly string[]
  /** Time at which the row was made. */
  readonly since: number
}

type Places = Map<string, { readonly at: number; readonly until: number }>
type Is = (other: Fault | Oddity) => boolean

const RightDate = Date

/** Error of the clock of this process, in whole seconds. */
function clockErrorMs(): number {
  return Math.round((Date.now() - RightDate.now()) / 1_000) * 1_000
}

/** The contract over one Map, with one fault at most. Its engine can be removed, and then its calls wait. */
export function makeStores(fault: Fault | Oddity) {
  const is: Is = (other) => fault === other
  let [time, readyAt, wasAway] = [0, 0, false]
  let [back, bringBack]: [Promise<void> | undefined, () => void] = [undefined, () => {}]
  const shared = { rows: new Map<string, Row>(), places: new Map() }
  const makeStore = ({ retentionMs = 7 * 24 * 3_600_000 }: { readonly retentionMs?: number }): Store => {
    const rows = is('shares nothing') ? new Map<string, Row>() : shared.rows
    const places: Places = is('shares no positions') ? new Map() : shared.places
    const now = () => time + (is('goes by the clock of its process') ? clockErrorMs() : 0)
    const placeTime = () =>
      time + (is('counts the lifetime of positions by the clock of its process') ? clockErrorMs() : 0)
    const claims = makeClaims(is, rows, now, retentionMs)
    const positions = makePositions(is, places, placeTime, retentionMs)
    const late = new Set<string>()
    const reach = async <T>(call: () => T): Promise<Awaited<T>> => {
      if (
        is('refuses calls until its engine is back for a while') &&
        (back !== undefined || performance.now() < readyAt)
      )
        throw new Error('no connection')
      if (wasAway && is('never finds its engine again')) throw new Error('no connection')
      if (back !== undefined && !is('answers while its engine is away')) await back
      return await call()
    }
    return {
      retentionMs: is('says another retention') ? 7 * 24 * 3_600_000 : retentionMs,
      ...positions,
      async claim(key, leaseMs) {
        const isLate = back !== undefined
        const claim = await reach(() => claims.claim(key, leaseMs))
        if (isLate) late.add(key)
        const isHeld = is('holds what it claimed late for ever')
        if (!isLate || !(isHeld || is('loses the answer to a late claim'))) return claim
        if (isHeld) claims.find(key).until = Number.POSITIVE_INFINITY
        throw new Error('the connection was lost')
      },
      renew: (key, token, leaseMs, marks) => reach(() => claims.renew(key, token, leaseMs, marks)),
      complete: (key, token) => reach(() => claims.complete(key, token)),
      release(key, token, marks) {
        if (is('forgets positions with the claim')) places.clear()
        if (is('cannot release what it claimed late') && late.has(key)) return false
        return reach(() => claims.release(key, token, marks))
      },
    }
  }
  const outage = {
    begin() {
      wasAway = true
      back = new Promise((resolve) => {
        bringBack = resolve
      })
    },
    end() {
      if (is('comes back without its claims')) shared.rows.clear()
      if (is('comes back with other holders')) for (const row of shared.rows.values()) row.token = randomUUID()
      bringBack()
      back = undefined
      readyAt = performance.now() + 100
    },
  }
  const pass = (ms: number) => {
    time += ms
  }
  return { makeStore, pass, outage }
}

function makeClaims(is: Is, rows: Map<string, Row>, now: () => number, retentionMs: number) {
  const object: Record<string, Row> = {}
  const find = (given: string): Row => {
    let key = is('cuts keys off') ? given.slice(0, 255) : given
    if (is('ignores case')) key = key.toLowerCase()
    const known = is('looks keys up in an object') ? object[key] : rows.get(key)
    const isKnown = known !== undefined && (is('never forgets') || known.forgetAt > now())
    const row = isKnown ? known : { done: false, token: undefined, until: 0, forgetAt: 0, marks: [], since: now() }
    if (is('looks keys up in an object')) object[key] = row
    else rows.set(key, row)
    return row
  }
  const isLive = ({ until }: Row) =>
    until > now() + (is('compares times with the clock of its process') ? clockErrorMs() : 0)
  const isFenced = (row: Row, token: string) => row.token !== token && row.until > now()
  const isTooLong = is('forgets at once what it should keep for months') && retentionMs >= 2 ** 31
  const keepFor = is('forgets too early') ? retentionMs / 3 : isTooLong ? 1 : retentionMs
  const keepUntil = ({ since }: Row) => (is('counts the retention from the first claim') ? since : now()) + keepFor
  const hold = (row: Row, token: string, leaseMs: number) => {
    const from = is('adds the new lease to the old one') ? Math.max(row.until, now()) : now()
    const lease = is('ends claims early') ? leaseMs / 3 : leaseMs
    const until = is('holds claims for ever') ? Number.POSITIVE_INFINITY : from + lease
    const forgetAt = is('forgets a claim that lives for longer than the retention') ? now() : until
    Object.assign(row, { token, until, forgetAt: forgetAt + keepFor })
  }
  const add = (row: Row, marks: readonly string[]) => {
    if (is('keeps the list that it was given') && row.marks.length === 0) row.marks = marks
    else row.marks = is('replaces marks') ? [...marks] : [...new Set([...row.marks, ...marks])]
    if (is('joins marks by commas') && row.marks.length > 0) row.marks = row.marks.join().split(',')
    if (is('keeps a hundred marks at most')) row.marks = row.marks.slice(0, 100)
  }
  const newToken = (row: Row): string => {
    const { token, claims = 0 } = row
    row.claims = claims + 1
    if (is('numbers the claims of each key')) return `${claims}`
    if (is('gives empty tokens')) return ''
    if (is('gives tokens as bytes')) return Buffer.from(randomUUID()) as never
    if (is('gives the token of before after a release') && token !== undefined) return token
    return is('gives the same token twice') ? 'token' : randomUUID()
  }
  return {
    find,
    async claim(key: string, leaseMs: number): Promise<Claim> {
      const row = find(key)
      if (row.done) return { state: 'done' }
      if (isLive(row) || (is('knows what every object has') && key in {})) return { state: 'busy' }
      if (is('claims in two steps')) await undefined
      const token = newToken(row)
      hold(row, token, leaseMs)
      return {
        state: 'claimed',
        token,
        marks: is('returns marks in another order') ? [...row.marks].reverse() : [...row.marks],
      }
    },
    renew(key: string, token: string, leaseMs: number, marks: readonly string[]): boolean {
      const row = find(key)
      const isOver = row.until <= now()
      if (isFenced(row, token) && is('keeps marks that another renews with')) add(row, marks)
      if (isFenced(row, token) && is('lengthens the claim of another, though it says no')) row.until = now() + leaseMs
      if (isFenced(row, token) && !is('lets anybody renew')) return false
      if (isOver && is('cannot renew once its lease has ended')) return false
      if (row.done && !is('renews what is done')) return false
      hold(row, token, leaseMs)
      if (!is('loses the marks of a renewal')) add(row, marks)
      return true
    },
    complete(key: string, token: string): boolean {
      const row = find(key)
      if (isFenced(row, token) && !is('lets anybody complete')) return false
      if (is('cannot complete once its lease has ended') && row.until <= now()) return false
      if (is('cannot complete what it does not know') && row.token === undefined) return false
      if (is('cannot repeat a complete') && row.done) return false
      const forgetAt = is('forgets what is done with its lease') ? row.until : keepUntil(row)
      Object.assign(row, { done: true, until: 0, forgetAt })
      return true
    },
    release(key: string, token: string, marks: readonly string[]): boolean {
      const row = find(key)
      const isLate = row.until <= now()
      if (is('keeps marks of another')) add(row, marks)
      if (isFenced(row, token) && !is('lets anybody release')) return false
      if (is('cannot repeat a release') && row.until === 0) return false
      if (row.done && !is('is undone by a late release')) return true
      if (!is('loses the marks of a release') && !(isLate && is('loses the marks of a late release'))) add(row, marks)
      const until = is('ends a released claim with its lease') ? row.until : 0
      Object.assign(row, { done: false, until, forgetAt: keepUntil(row) })
      return true
    },
  }
}

function makePositions(is: Is, places: Places, now: () => number, retentionMs: number) {
  const toKey = (key: string) => (is('ignores case in positions') ? key.toLowerCase() : key)
  const find = (key: string) => {
    const place = places.get(toKey(key))
    return place !== undefined && (place.until > now() || is('never forgets positions')) ? place : undefined
  }
  const isLater = (known: number, at: number) => {
    if (is('moves positions back')) return false
    if (is('compares positions as text')) return String(known) > String(at)
    return is('refuses an equal position') ? known >= at : known > at
  }
  const positions = async (keys: readonly string[]) => {
    const found = keys.map((key) => find(key)?.at)
    return is('returns the positions that there are, and no others') ? found.filter((at) => at !== undefined) : found
  }
  const advance = async (key: string, at: number) => {
    const known = find(key)
    if (is('advances in two steps')) await undefined
    if (known !== undefined && isLater(known.at, at)) return is('says nothing of a later position')
    const forMs = is('forgets positions too early') ? retentionMs / 3 : retentionMs
    const isKept = is('keeps a position from its first move only') && known !== undefined
    places.set(toKey(key), {
      at: is('rounds positions to seconds') ? Math.floor(at / 1_000) * 1_000 : at,
      until: isKept ? known.until : now() + forMs,
    })
    return true
  }
  return { positions, ...(!is('has positions and no advance') && { advance }) }
}

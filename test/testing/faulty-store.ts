import { randomUUID } from 'node:crypto'
import type { Claim, Position, Store } from 'postern'

export const MODEL = 'answers as the contract in its plainest form does'
const AHEAD = 'though the clock of one process is an hour ahead'
const BEHIND = 'though the clock of one process is an hour behind'

/** Faults of a custom store, each in one line, which each case must notice. */
export const FAULTS = {
  'claims a key that it does not know, with a token and without marks': ['gives empty tokens', 'gives tokens as bytes'],
  'gives a key to one of many that claim it at once': ['claims in two steps', 'shares nothing'],
  'gives a key to one of many also when it changes hands again and again': ['claims in two steps'],
  'claims many keys at once, each by itself': ['claims in two steps'],
  'holds keys apart that differ in little': ['cuts keys off', 'ignores case'],
  'takes the names of what every object has for keys like any other': ['knows what every object has'],
  'takes a late renewal, completion or release before the claim of another, or not at all': [
    'renews in two steps',
    'completes in two steps',
    'releases in two steps',
  ],
  'answers a claim as before or after a completion or release that comes at the same time': [
    'looks at what is done before it looks at the holder',
    'reads the marks before it looks at the holder',
    'lets go of a key before it adds the marks',
  ],
  'gives a claim that ended by itself to one of many': ['holds claims for ever', 'claims in two steps'],
  'takes renewals, completions and releases of a key that it has forgotten, or never knew': [
    'cannot renew what it does not know',
    'cannot complete what it does not know',
    'cannot release what it does not know',
  ],
  'takes any readable name as a mark, and many of them': ['joins marks by commas', 'keeps a hundred marks at most'],
  'keeps marks of its own: a list that changes later changes nothing': ['keeps the list that it was given'],
  'keeps what renewals and releases bring at the same time, in two processes': ['adds marks in two steps'],
  'returns what a completion was given with done, or nothing': [
    'returns with done the marks of a late release',
    'cannot complete without positions',
  ],
  'forgets what is done and its marks, if it can, and never a claim that lives': [
    'forgets a claim that lives',
    'forgets nothing',
    'tells of forgetting what it does not know',
    'keeps the marks of what it forgets',
  ],
  'tells how long it remembers': ['says another retention'],
  'forgets what is done after the retention, and not before': ['forgets too early', 'never forgets'],
  'remembers what is done for the retention from its end, however long it took': [
    'counts the retention from the first claim',
  ],
  'keeps a mark for the retention from when it came, beside older ones': ['counts the retention from the first claim'],
  'remembers for months if it is told to': ['forgets at once what it should keep for months'],
  'forgets marks after the retention, and not before': ['forgets too early', 'never forgets'],
  'keeps marks that came with a renewal for the retention, though the claim has long ended': [
    'loses the marks of a renewal',
    'forgets too early',
  ],
  'keeps a claim alive that is renewed for longer than the retention': [
    'forgets a claim that lives for longer than the retention',
  ],
  'gives no two claims of two processes the same token': ['numbers the claims of each process'],
  [`holds and ends claims on time ${AHEAD}`]: ['goes by the clock of its process'],
  [`holds and ends claims on time ${BEHIND}`]: [
    'goes by the clock of its process',
    'compares times with the clock of its process',
  ],
  [`remembers for as long as it should ${AHEAD}`]: ['goes by the clock of its process', 'never forgets'],
  [`remembers for as long as it should ${BEHIND}`]: ['goes by the clock of its process', 'never forgets'],
  'keeps the positions that come with the token of before, and nothing else of them': [
    'fences positions by the token',
    'loses the positions of a renewal of what is done',
  ],
  'compares positions by their size, and keeps them exactly': [
    'compares positions as text',
    'rounds positions to seconds',
  ],
  'returns positions in the order of their keys, however many': ['returns the positions that there are, and no others'],
  'keeps positions apart whose keys are alike': ['ignores case in positions'],
  'keeps the latest of positions that come at once from two processes': ['keeps positions in two steps'],
  'forgets a position after the retention, and not before': ['forgets positions too early', 'never forgets positions'],
  'keeps a position for the retention from its last move': [
    'keeps a position from its first move only',
    'drops an equal position',
  ],
  [`keeps a position for as long as it should ${AHEAD}`]: [
    'counts the lifetime of positions by the clock of its process',
  ],
  [`keeps a position for as long as it should ${BEHIND}`]: [
    'counts the lifetime of positions by the clock of its process',
  ],
  [MODEL]: [
    'lets anybody complete',
    'lets anybody renew',
    'lets anybody release',
    'cannot complete once its lease has ended',
    'cannot renew once its lease has ended',
    'cannot repeat a complete',
    'cannot repeat a release',
    'holds claims for ever',
    'ends claims early',
    'ends a released claim with its lease',
    'adds the new lease to the old one',
    'renews what is done',
    'is undone by a late release',
    'loses the marks of a renewal',
    'loses the marks of a release',
    'loses the marks of a late release',
    'replaces marks',
    'keeps marks of another',
    'shares nothing',
    'lengthens a claim that another wants',
    'numbers the claims of each key',
    'gives the token of before after a release',
    'gives the same token twice',
    'keeps marks that another renews with',
    'lengthens the claim of another, though it says no',
    'forgets what is done with its lease',
    'loses marks with a later claim that ends',
    'returns the positions that there are, and no others',
    'moves positions back',
    'loses the positions of a renewal',
    'loses the positions of a release',
    'keeps one position of each call',
    'forgets positions with the claim',
    'shares no positions',
  ],
  'answers nothing of its own while the engine is away, and is back by itself': ['answers while its engine is away'],
  'takes "done" after the engine was away, by the token from before': [
    'comes back with other holders',
    'cannot repeat a complete',
  ],
  'still knows claims, marks and what is done after the engine was away': [
    'comes back without its claims',
    'comes back with other holders',
  ],
  'gives back a claim that arrived late, and loses no key to one that never arrived': [
    'holds what it claimed late for ever',
    'cannot release what it claimed late',
  ],
} as const
export type Fault = (typeof FAULTS)[keyof typeof FAULTS][number] | 'never finds its engine again'

/** Oddities that the contract allows. */
export type Oddity =
  | 'none'
  | 'loses the answer to a late claim'
  | 'refuses calls until its engine is back for a while'
  | 'returns marks in another order'

interface Row {
  claims?: number
  /** True if no call has settled its last claim. */
  hasEnded?: boolean
  done: boolean
  token: string | undefined
  until: number
  forgetAt: number
  marks: readonly string[]
  by?: readonly string[] | undefined
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
  const shared = { rows: new Map<string, Row>(), places: new Map() as Places }
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
      keepsPositions: true,
      async claim(key, leaseMs, positionKeys) {
        const isLate = back !== undefined
        const made = await reach(() => claims.claim(key, leaseMs))
        const claim =
          made.state === 'claimed' && positionKeys ? { ...made, positions: positions.find(positionKeys) } : made
        if (isLate) late.add(key)
        const isHeld = is('holds what it claimed late for ever')
        if (!isLate || !(isHeld || is('loses the answer to a late claim'))) return claim
        if (isHeld) claims.find(key).until = Number.POSITIVE_INFINITY
        throw new Error('the connection was lost')
      },
      renew: (key, token, leaseMs, marks, brought) =>
        reach(async () => {
          const isHeld = await claims.renew(key, token, leaseMs, marks)
          const isLost = !isHeld && is('fences positions by the token')
          const isDone = claims.find(key).done && is('loses the positions of a renewal of what is done')
          if (!is('loses the positions of a renewal') && !isLost && !isDone) await positions.keep(brought)
          return isHeld
        }),
      forget: (key) => reach(() => claims.forget(key)),
      complete: (key, token, brought, by) =>
        reach(async () => {
          if (brought === undefined && by !== undefined && is('cannot complete without positions')) return false
          const isDone = await claims.complete(key, token)
          if (isDone) claims.find(key).by = by
          if (isDone || !is('fences positions by the token')) await positions.keep(brought)
          return isDone
        }),
      release(key, token, marks, brought) {
        if (is('cannot release what it claimed late') && late.has(key)) return false
        return reach(async () => {
          const isReleased = await claims.release(key, token, marks)
          if (is('forgets positions with the claim')) places.clear()
          const isLost = !isReleased && is('fences positions by the token')
          if (!is('loses the positions of a release') && !isLost) await positions.keep(brought)
          return isReleased
        })
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
  return { makeStore, pass, outage, ...shared, now: () => time }
}

function makeClaims(is: Is, rows: Map<string, Row>, now: () => number, retentionMs: number) {
  let claimed = 0
  const find = (given: string): Row => {
    let key = is('cuts keys off') ? given.slice(0, 255) : given
    if (is('ignores case')) key = key.toLowerCase()
    const known = rows.get(key)
    const isKnown = known !== undefined && (is('never forgets') || known.forgetAt > now())
    const row = isKnown ? known : { done: false, token: undefined, until: 0, forgetAt: 0, marks: [], since: now() }
    rows.set(key, row)
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
    if (is('numbers the claims of each process')) return `${++claimed}`
    if (is('gives empty tokens')) return ''
    if (is('gives tokens as bytes')) return Buffer.from(randomUUID()) as never
    if (is('gives the token of before after a release') && token !== undefined) return token
    return is('gives the same token twice') ? 'token' : randomUUID()
  }
  return {
    find,
    forget(key: string): boolean {
      const row = find(key)
      if (row.until > now() && !is('forgets a claim that lives')) return false
      const isKnown = row.done || row.marks.length > 0
      if (is('keeps the marks of what it forgets')) row.done = false
      else if (!is('forgets nothing')) rows.delete(key)
      return isKnown || is('tells of forgetting what it does not know')
    },
    async claim(key: string, leaseMs: number): Promise<Claim> {
      const row = find(key)
      const { done, marks } = row
      const isDoneFirst = is('looks at what is done before it looks at the holder')
      const areMarksFirst = is('reads the marks before it looks at the holder')
      if (isDoneFirst || areMarksFirst) await undefined
      if (isDoneFirst ? done : row.done) return { state: 'done', ...(row.by && { by: row.by }) }
      if (isLive(row) && is('lengthens a claim that another wants')) row.until = now() + leaseMs
      if (isLive(row) || (is('knows what every object has') && key in {})) return { state: 'busy' }
      if (is('claims in two steps')) await undefined
      if (row.hasEnded && is('loses marks with a later claim that ends')) row.marks = []
      row.hasEnded = true
      const token = newToken(row)
      hold(row, token, leaseMs)
      const kept = areMarksFirst ? marks : row.marks
      return { state: 'claimed', token, marks: is('returns marks in another order') ? kept.toReversed() : [...kept] }
    },
    async renew(key: string, token: string, leaseMs: number, given: readonly string[]): Promise<boolean> {
      const row = find(key)
      const marks = is('keeps the list that it was given') ? given : [...given]
      const isOver = row.until <= now()
      if (isFenced(row, token) && is('keeps marks that another renews with')) add(row, marks)
      if (isFenced(row, token) && is('lengthens the claim of another, though it says no')) row.until = now() + leaseMs
      if (isFenced(row, token) && !is('lets anybody renew')) return false
      if (isOver && is('cannot renew once its lease has ended')) return false
      if (row.done && !is('renews what is done')) return false
      if (is('cannot renew what it does not know') && row.token === undefined) return false
      if (is('renews in two steps')) await undefined
      hold(row, token, leaseMs)
      if (!is('loses the marks of a renewal')) add(row, marks)
      return true
    },
    async complete(key: string, token: string): Promise<boolean> {
      const row = find(key)
      if (isFenced(row, token) && !is('lets anybody complete')) return false
      if (is('cannot complete once its lease has ended') && row.until <= now()) return false
      if (is('cannot complete what it does not know') && row.token === undefined) return false
      if (is('cannot repeat a complete') && row.done) return false
      if (is('completes in two steps')) await undefined
      const forgetAt = is('forgets what is done with its lease') ? row.until : keepUntil(row)
      Object.assign(row, { done: true, until: 0, forgetAt })
      return true
    },
    async release(key: string, token: string, marks: readonly string[]): Promise<boolean> {
      const row = find(key)
      const isLate = row.until <= now()
      if (is('keeps marks of another')) add(row, marks)
      if (isFenced(row, token) && !is('lets anybody release')) return false
      if (is('cannot repeat a release') && row.until === 0) return false
      if (row.done && is('returns with done the marks of a late release')) row.by = [...(row.by ?? []), ...marks]
      if (row.done && !is('is undone by a late release')) return true
      if (is('cannot release what it does not know') && row.token === undefined) return false
      const known = row.marks
      if (is('releases in two steps') || is('adds marks in two steps')) await undefined
      if (is('adds marks in two steps')) row.marks = known
      if (is('lets go of a key before it adds the marks')) await Object.assign(row, { until: 0 })
      if (!is('loses the marks of a release') && !(isLate && is('loses the marks of a late release'))) add(row, marks)
      row.hasEnded = false
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
    return is('drops an equal position') ? known >= at : known > at
  }
  const advance = async ({ key, at }: Position) => {
    const known = find(key)
    if (is('keeps positions in two steps')) await undefined
    if (known !== undefined && isLater(known.at, at)) return
    const forMs = is('forgets positions too early') ? retentionMs / 3 : retentionMs
    const isKept = is('keeps a position from its first move only') && known !== undefined
    places.set(toKey(key), {
      at: is('rounds positions to seconds') ? Math.floor(at / 1_000) * 1_000 : at,
      until: isKept ? known.until : now() + forMs,
    })
  }
  return {
    find(keys: readonly string[]) {
      const found = keys.map((key) => find(key)?.at)
      return is('returns the positions that there are, and no others') ? found.filter((at) => at !== undefined) : found
    },
    async keep(brought: readonly Position[] = []) {
      await Promise.all((is('keeps one position of each call') ? brought.slice(0, 1) : brought).map(advance))
    },
  }
}

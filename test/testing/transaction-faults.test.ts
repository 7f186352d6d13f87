import { type Position, PosternError, type TransactionalStore } from 'postern'
import { type StoreSuiteOptions, storeSuite } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { makeStores } from './faulty-store.ts'

/** Faults of a custom transactional store, each in one line, which each case must notice. */
const FAULTS = {
  'commits a position together with what its transaction wrote, also an equal one': [
    'commits no position',
    'refuses an event of the same time',
  ],
  'rolls back a transaction for an outdated event, and leaves its claim': [
    'commits for an outdated event',
    'keeps the mark of an outdated event',
    'says lease_lost of an outdated event',
    'gives up the claim of an outdated event',
  ],
  'leaves the position of a transaction that is rolled back where it was': [
    'keeps the position of work that failed',
    'keeps the position of a lease that was lost',
  ],
  'commits the transactions of one record in the order of its events, whichever ends last': ['commits no position'],
  'rolls back a transaction if a later position is kept by its end': ['looks at the position before the work only'],
  'commits what a transaction wrote together with its mark, and returns what its work returned': [
    'forgets the mark',
    'loses what the work returned',
    'gives the claim up with the commit',
  ],
  'rolls back writes and mark of work that throws, and rejects with that very error': [
    'keeps the mark of work that failed',
    'keeps the rows of work that failed',
    'rejects with an error of its own',
  ],
  'commits other transactions though one at the same time fails': ['rolls back what others write at the same time'],
  'commits a transaction for each handler, with marks that differ in case only': ['folds the case of marks'],
  'rolls back a second transaction with a mark that is there': ['commits a mark twice'],
  'commits one of two transactions with the same mark at the same time, and rolls back the other': [
    'commits the rows before the mark',
  ],
  'rolls back a transaction whose claim another one has': [
    'lets anybody commit',
    'does not say that the lease was lost',
  ],
  'rolls back a transaction whose claim another one had since, released or run out': [
    'looks at the holder only, not at who came since',
    'gives the key back to its holder of before with a release',
  ],
  'rolls back a transaction for an event that is done': ['commits for what is done'],
  'commits a transaction whose lease has ended, if nobody took the key since': ['refuses once the lease has ended'],
  'begins no transaction for a handler that was given up': [
    'begins for a handler that was given up',
    'has an error of its own for a handler that was given up',
  ],
  'makes nobody wait for a transaction, and rolls back if another one takes the key meanwhile': [
    'looks at the token before the work only',
    'makes renewals wait for the work',
  ],
  'rolls back a transaction whose handler is given up while it runs': [
    'commits for a handler that was given up meanwhile',
    'has an error of its own for a handler that was given up',
  ],
} as const
type Fault = (typeof FAULTS)[keyof typeof FAULTS][number] | 'none'

interface Tx {
  write(row: string): void
}

/** A store in memory with transactions, and with one fault in these at most. */
function makeEngine(fault: Fault, options: StoreSuiteOptions = {}) {
  const is = (other: Fault) => fault === other
  const { makeStore, pass, rows: entries, places, now } = makeStores('none')
  const plain = makeStore({})
  let working: Promise<void> = Promise.resolve()
  const rows = new Set<string>()
  const staged = new Set<string[]>()
  /** Token of the claim before the last, by key. */
  const before = new Map<string, string | undefined>()
  const find = (key: string) => {
    const entry = entries.get(key)
    if (entry === undefined) throw new Error('it was never claimed')
    return entry
  }
  type Entry = ReturnType<typeof find>
  const keep = ({ key, at }: Position) =>
    places.set(key, { at: Math.max(places.get(key)?.at ?? at, at), until: Number.POSITIVE_INFINITY })
  const isOutdated = (position: Position | undefined) => {
    if (position === undefined || is('commits for an outdated event')) return false
    const known = places.get(position.key)?.at ?? Number.NEGATIVE_INFINITY
    return known > position.at || (known === position.at && is('refuses an event of the same time'))
  }
  const add = (entry: Entry, mark: string) => {
    entry.marks = [...new Set([...entry.marks, mark])]
  }
  const mayCommit = (entry: Entry, token: string, mark: string) => {
    if (is('lets anybody commit')) return true
    if (entry.done && !is('commits for what is done')) return false
    if (entry.marks.includes(mark) && !is('commits a mark twice')) return false
    if (is('refuses once the lease has ended') && entry.until <= now()) return false
    const isFree = is('looks at the holder only, not at who came since') && entry.until <= now()
    return isFree || entry.token === token
  }
  const store: TransactionalStore<Tx> = {
    ...plain,
    async claim(key, ...given) {
      const token = entries.get(key)?.token
      const claim = await plain.claim(key, ...given)
      if (claim.state === 'claimed') before.set(key, token)
      return claim
    },
    async renew(...given) {
      if (is('makes renewals wait for the work')) await working
      return plain.renew(...given)
    },
    async release(key, ...given) {
      const isReleased = await plain.release(key, ...given)
      if (is('gives the key back to its holder of before with a release')) find(key).token = before.get(key)
      return isReleased
    },
    async transaction({ key, token, mark: given, signal, position }, work) {
      const mark = is('folds the case of marks') ? given.toLowerCase() : given
      const written: string[] = []
      let onEnd = () => {}
      staged.add(written)
      const tx = { write: (row: string) => void written.push(row) }
      const keepRows = () => {
        for (const row of written) rows.add(row)
      }
      try {
        if (!is('begins for a handler that was given up')) signal.throwIfAborted()
        const couldCommit = mayCommit(find(key), token, mark)
        const wasOutdated = isOutdated(position)
        working = new Promise((resolve) => {
          onEnd = resolve
        })
        const value = await work(tx)
        if (!is('commits for a handler that was given up meanwhile') && !is('begins for a handler that was given up'))
          signal.throwIfAborted()
        const isLost = is('looks at the token before the work only') ? !couldCommit : !mayCommit(find(key), token, mark)
        if (isLost && position && is('keeps the position of a lease that was lost')) keep(position)
        if (isLost && is('does not say that the lease was lost')) throw new Error('conflict')
        if (isLost) throw new PosternError('lease_lost', 'another one has the event')
        if (is('looks at the position before the work only') ? wasOutdated : isOutdated(position)) {
          if (is('keeps the mark of an outdated event')) add(find(key), mark)
          if (is('gives up the claim of an outdated event')) find(key).token = undefined
          throw new PosternError(
            is('says lease_lost of an outdated event') ? 'lease_lost' : 'event_outdated',
            'outdated',
          )
        }
        keepRows()
        if (position && !is('commits no position')) keep(position)
        if (is('commits the rows before the mark')) await new Promise((resolve) => setImmediate(resolve))
        if (is('gives the claim up with the commit')) find(key).until = 0
        if (!is('forgets the mark')) add(find(key), mark)
        return is('loses what the work returned') ? (undefined as typeof value) : value
      } catch (error) {
        if (is('keeps the rows of work that failed')) keepRows()
        if (position && is('keeps the position of work that failed')) keep(position)
        if (is('keeps the mark of work that failed')) add(find(key), mark)
        if (is('rolls back what others write at the same time')) for (const other of staged) other.length = 0
        const hasOwnError = signal.aborted && is('has an error of its own for a handler that was given up')
        if (hasOwnError || is('rejects with an error of its own')) throw new Error('rolled back', { cause: error })
        throw error
      } finally {
        staged.delete(written)
        onEnd()
      }
    },
  }
  const cases = storeSuite(() => store, {
    pass,
    transaction: { write: (tx: Tx, row) => tx.write(row), has: (row) => rows.has(row) },
    ...options,
  })
  return cases.filter(({ name }) => /transaction|rolls back/.test(name))
}

describe('the cases of storeSuite for transactions', () => {
  it('pass on a store that keeps the contract', async () => {
    for (const { run } of makeEngine('none')) await run()
  })

  it('are not left out if stores share nothing', () => {
    expect(makeEngine('none', { isShared: false })).toHaveLength(makeEngine('none').length)
  })

  it('fail with a message if has() does not return a boolean', async () => {
    const has = () => 1 as unknown as boolean // like SQL's EXISTS
    const [first] = makeEngine('none', { transaction: { write: (tx: Tx, row) => tx.write(row), has } })
    await expect(first?.run()).rejects.toThrow('transaction.has() returned 1; return true or false')
  })

  it('have each a planted fault', () => {
    const names = makeEngine('none').map(({ name }) => name)
    expect(names.sort()).toEqual(Object.keys(FAULTS).sort())
  })

  it.each(Object.entries(FAULTS).flatMap(([name, faults]) => faults.map((fault) => [fault, name] as const)))(
    'notice a store that %s: %s',
    async (fault, name) => {
      const run = makeEngine(fault).find((each) => each.name === name)?.run
      const late = new Promise((_, reject) => setTimeout(reject, 1_000)) // a store may never answer
      await expect(Promise.race([run?.(), late]).catch(() => 'noticed')).resolves.toBe('noticed')
    },
  )
})

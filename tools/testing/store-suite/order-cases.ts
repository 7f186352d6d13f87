import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Position } from '../../../src/store/store.ts'
import { type CaseDefinition, type Runs, STRANGER, type Trial, toCases } from './trial.ts'
import { forWrongClocks, withWrongClock } from './wrong-clock.ts'

const TIME = 1_750_000_000_000

const CASES: Runs = {
  'keeps the positions that come with the token of before, and nothing else of them': async (trial) => {
    const { key, leaseMs, store } = trial
    const { token } = await trial.take()
    await trial.outlastLease()
    const { token: another } = await trial.take()
    strictEqual(await store.renew(key, token, leaseMs, ['mark'], [positionOf(trial, TIME)]), false)
    deepStrictEqual(await find(trial, ['a']), [TIME])
    strictEqual(await store.release(key, token, ['mark'], [positionOf(trial, TIME + 1)]), false)
    deepStrictEqual(await find(trial, ['a']), [TIME + 1])
    strictEqual(await store.complete(key, token, [positionOf(trial, TIME + 2)]), false)
    deepStrictEqual(await find(trial, ['a']), [TIME + 2])
    ok(await store.complete(key, another))
    strictEqual(await store.renew(key, token, leaseMs, [], [positionOf(trial, TIME + 3)]), false)
    deepStrictEqual(await find(trial, ['a']), [TIME + 3])
  },
  'compares positions by their size, and keeps them exactly': async (trial) => {
    const rising = [
      ...[-62_167_219_200_000, -10, -9, 0, 9, 10],
      ...[999_999_999_999, 1_000_000_000_000, TIME, 253_402_300_799_999],
    ]
    for (const [index, at] of rising.entries()) {
      await keep(trial, 'a', at)
      for (const earlier of rising.slice(0, index)) await keep(trial, 'a', earlier)
      deepStrictEqual(await find(trial, ['a']), [at])
    }
  },
  'returns positions in the order of their keys, however many': async (trial) => {
    const names = Array.from({ length: 60 }, (_, index) => `record ${(index * 37) % 60}`)
    const known = names.filter((_, index) => index % 3 !== 0)
    const positions = known.map((name, index) => positionOf(trial, TIME + index, name))
    ok(await trial.store.complete(freshKey(trial), STRANGER, positions))
    const expected = names.map((name) => (known.includes(name) ? TIME + known.indexOf(name) : undefined))
    deepStrictEqual(await find(trial, names), expected)
    deepStrictEqual(await find(trial, ['record 1', 'record 1']), [
      TIME + known.indexOf('record 1'),
      TIME + known.indexOf('record 1'),
    ])
  },
  'keeps positions apart whose keys are alike': async (trial) => {
    const names = ['a', 'A', 'a ', '', '__proto__', 'constructor', 'x'.repeat(300), `${'x'.repeat(299)}y`]
    for (const [index, name] of names.entries()) await keep(trial, name, TIME - index)
    deepStrictEqual(
      await find(trial, names),
      names.map((_, index) => TIME - index),
    )
  },
  'keeps the latest of positions that come at once from two processes': async (trial) => {
    const { store, another } = trial
    const times = Array.from({ length: 40 }, (_, index) => TIME + ((index * 17) % 40))
    await Promise.all(times.map((at, index) => keep(trial, 'a', at, index % 2 === 0 ? store : another)))
    deepStrictEqual(await find(trial, ['a']), [TIME + 39])
  },
}

const FOR_THREE_LEASES: Runs = {
  'forgets a position after the retention, and not before': async (trial) => {
    await keep(trial, 'a', TIME)
    await trial.pass(2)
    deepStrictEqual(await find(trial, ['a']), [TIME])
    await trial.pass(2)
    deepStrictEqual(await find(trial, ['a']), [undefined])
    await keep(trial, 'a', TIME - 1)
    deepStrictEqual(await find(trial, ['a']), [TIME - 1])
  },
  'keeps a position for the retention from its last move': async (trial) => {
    await keep(trial, 'a', TIME)
    await trial.pass(2)
    await keep(trial, 'a', TIME)
    await trial.pass(2)
    deepStrictEqual(await find(trial, ['a']), [TIME])
  },
}

const WITH_WRONG_CLOCK = forWrongClocks((direction, offMs) => ({
  [`keeps a position for as long as it should though the clock of one process is an hour ${direction}`]: async (
    trial,
  ) => {
    await withWrongClock(offMs, () => keep(trial, 'a', TIME, trial.another))
    await trial.pass(2)
    deepStrictEqual(await find(trial, ['a']), [TIME])
    deepStrictEqual(await withWrongClock(offMs, () => find(trial, ['a'], trial.another)), [TIME])
    await trial.pass(2)
    deepStrictEqual(await find(trial, ['a']), [undefined])
  },
}))

const TRANSACTIONS: Runs = {
  'commits a position together with what its transaction wrote, also an equal one': async (trial) => {
    for (const [row, at] of Object.entries({ first: TIME, equal: TIME, newer: TIME + 1 })) {
      await transact(trial, row, at)
      ok(await trial.has(row), row)
      deepStrictEqual(await find(trial, ['a']), [at])
    }
  },
  'rolls back a transaction for an outdated event, and leaves its claim': async (trial) => {
    await keep(trial, 'a', TIME)
    const { token } = await trial.take()
    await rejects(transact(trial, 'row', TIME - 1, token), { code: 'event_outdated' })
    strictEqual(await trial.has('row'), false)
    deepStrictEqual(await find(trial, ['a']), [TIME])
    ok(await trial.renew(token))
    ok(await trial.store.release(trial.key, token, []))
    deepStrictEqual((await trial.take()).marks, [])
  },
  'leaves the position of a transaction that is rolled back where it was': async (trial) => {
    await keep(trial, 'a', TIME)
    const { token } = await trial.take()
    const error = new Error('the work failed')
    const fail = () => {
      throw error
    }
    const failing = trial.transact({ token, position: positionOf(trial, TIME + 1) }, (tx) =>
      trial.writeThen(tx, 'row', fail),
    )
    await rejects(failing, (thrown) => thrown === error)
    await trial.outlastLease()
    await trial.take(trial.key, trial.another)
    await rejects(transact(trial, 'row', TIME + 2, token), { code: 'lease_lost' })
    deepStrictEqual(await find(trial, ['a']), [TIME])
  },
  'commits the transactions of one record in the order of its events, whichever ends last': async (trial) => {
    const times = [3, 1, 4, 0, 2]
    const order: number[] = []
    await Promise.allSettled(
      times.map(async (time) => {
        await transact(trial, `row ${time}`, TIME + time)
        order.push(time)
      }),
    )
    ok(await trial.has('row 4'))
    for (const time of times) strictEqual(await trial.has(`row ${time}`), order.includes(time))
    deepStrictEqual(await find(trial, ['a']), [TIME + 4])
  },
}

const ASYNCHRONOUS: Runs = {
  'rolls back a transaction if a later position is kept by its end': async (trial) => {
    const { token } = await trial.take()
    const work = (tx: unknown) => trial.writeThen(tx, 'row', () => keep(trial, 'a', TIME + 1, trial.another))
    await rejects(trial.transact({ token, position: positionOf(trial, TIME) }, work), { code: 'event_outdated' })
    strictEqual(await trial.has('row'), false)
    deepStrictEqual(await find(trial, ['a']), [TIME + 1])
  },
}

/** Requirements of a store that keeps positions of records. Another store passes: handlers cannot be ordered on it. */
export const orderCases: readonly CaseDefinition[] = [
  ...toCases(CASES),
  ...toCases(FOR_THREE_LEASES, { retention: 3 }),
  ...toCases(WITH_WRONG_CLOCK, { needs: 'engine clock', retention: 3 }),
  ...toCases(TRANSACTIONS, { needs: 'transaction' }),
  ...toCases(ASYNCHRONOUS, { needs: 'asynchronous transaction' }),
].map((definition) => ({
  ...definition,
  run: async (trial) => (trial.store.keepsPositions === true ? definition.run(trial) : undefined),
}))

const keyOf = (trial: Trial, name: string) => `${trial.key}@${name}`
const positionOf = (trial: Trial, at: number, name = 'a'): Position => ({ key: keyOf(trial, name), at })
/** Returns the key of another event. */
const freshKey = (trial: Trial) => `${trial.key}:${randomUUID()}`

/** Returns what the claim of another event says of these positions. */
async function find(trial: Trial, names: readonly string[], store = trial.store): Promise<unknown> {
  const positionKeys = names.map((name) => keyOf(trial, name))
  const claim = await store.claim(freshKey(trial), trial.leaseMs, positionKeys)
  return claim.state === 'claimed' ? claim.positions : claim
}

/** Brings a position with the completion of another event. */
async function keep(trial: Trial, name: string, at: number, store = trial.store): Promise<void> {
  ok(await store.complete(freshKey(trial), STRANGER, [positionOf(trial, at, name)]))
}

/** Writes a row for an event of the record `a`: with the given claim, or with the claim of a new event. */
async function transact(trial: Trial, row: string, at: number, token?: string): Promise<unknown> {
  const key = token === undefined ? `${trial.key}:${row}` : trial.key
  const claimed = token ?? (await trial.take(key)).token
  return trial.transact({ key, token: claimed, position: positionOf(trial, at) }, (tx) => trial.write(tx, row))
}

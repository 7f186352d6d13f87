import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BUSY, type Runs, sorted, type Trial, toCases } from './trial.ts'

const CASES: Runs = {
  'commits what a transaction wrote together with its mark, and returns what its work returned': async (trial) => {
    const { token } = await trial.take()
    const value = await trial.transact({ token }, (tx) => trial.writeThen(tx, 'row', () => 'value'))
    strictEqual(value, 'value')
    ok(await trial.has('row'))
    deepStrictEqual(await trial.claim(trial.key, trial.another), BUSY)
    await trial.store.release(trial.key, token, [])
    deepStrictEqual((await trial.take()).marks, ['mark'])
  },
  'rolls back writes and mark of work that throws, and rejects with that very error': async (trial) => {
    const { token } = await trial.take()
    const error = new Error('the work failed')
    const fail = () => {
      throw error
    }
    await rejects(
      trial.transact({ token }, (tx) => trial.writeThen(tx, 'row', fail)),
      (thrown) => thrown === error,
    )
    await expectNothing(trial, token)
  },
  'commits other transactions though one at the same time fails': async (trial) => {
    const keys = Array.from({ length: 10 }, (_, index) => `${trial.key}:${index}`)
    const tokens = await Promise.all(keys.map(async (key) => (await trial.take(key)).token))
    const results = await Promise.allSettled(
      keys.map((key, index) =>
        trial.transact({ key, token: tokens[index] ?? '' }, (tx) =>
          trial.writeThen(tx, `row ${index}`, () => {
            if (index % 2 === 1) throw new Error('the work failed')
          }),
        ),
      ),
    )
    for (const [index, { status }] of results.entries()) {
      strictEqual(status, index % 2 === 1 ? 'rejected' : 'fulfilled')
      strictEqual(await trial.has(`row ${index}`), index % 2 === 0)
    }
  },
  'commits a transaction for each handler, with marks that differ in case only': async (trial) => {
    const { token } = await trial.take()
    const marks = ['save', 'Save', 'SAVE', 'save ', "it's", 'a"b', 'é', '{a,b}', 'NULL', '__proto__']
    for (const mark of marks) await trial.transact({ token, mark }, (tx) => trial.write(tx, mark))
    for (const mark of marks) ok(await trial.has(mark), mark)
    await trial.store.release(trial.key, token, [])
    deepStrictEqual(sorted((await trial.take()).marks), sorted(marks))
  },
  'rolls back a second transaction with a mark that is there': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.renew(token, ['mark']))
    await expectLost(trial, token)
  },
  'commits one of two transactions with the same mark at the same time, and rolls back the other': async (trial) => {
    const { token } = await trial.take()
    const rows = ['one', 'two']
    const results = await Promise.allSettled(rows.map((row) => trial.transact({ token }, (tx) => trial.write(tx, row))))
    deepStrictEqual(sorted(results.map(({ status }) => status)), ['fulfilled', 'rejected'])
    for (const [index, { status }] of results.entries())
      strictEqual(await trial.has(rows[index] ?? ''), status === 'fulfilled')
  },
  'rolls back a transaction whose claim another one has': async (trial) => {
    const { token } = await trial.take()
    await trial.outlastLease()
    await trial.take(trial.key, trial.another)
    await expectLost(trial, token)
    deepStrictEqual(await trial.claim(), BUSY)
  },
  'rolls back a transaction whose claim another one had since, released or run out': async (trial) => {
    for (const isReleased of [true, false]) {
      const key = `${trial.key}:${isReleased}`
      const { token } = await trial.take(key)
      await trial.outlastLease()
      const other = await trial.take(key, trial.another)
      if (isReleased) ok(await trial.another.release(key, other.token, []))
      else await trial.outlastLease()
      await expectLost(trial, token, key)
    }
  },
  'rolls back a transaction for an event that is done': async (trial) => {
    const { token } = await trial.take()
    ok(await trial.store.complete(trial.key, token))
    await expectLost(trial, token)
    deepStrictEqual(await trial.claim(), { state: 'done' })
  },
  'commits a transaction whose lease has ended, if nobody took the key since': async (trial) => {
    const { token } = await trial.take()
    await trial.outlastLease()
    await trial.transact({ token }, (tx) => trial.write(tx, 'row'))
    ok(await trial.has('row'))
    deepStrictEqual((await trial.take()).marks, ['mark'])
  },
  'begins no transaction for a handler that was given up': async (trial) => {
    const { token } = await trial.take()
    const reason = new Error('given up')
    const signal = AbortSignal.abort(reason)
    await rejects(
      trial.transact({ token, signal }, (tx) => trial.write(tx, 'row')),
      (thrown) => thrown === reason,
    )
    await expectNothing(trial, token)
  },
}

const ASYNCHRONOUS: Runs = {
  'makes nobody wait for a transaction, and rolls back if another one takes the key meanwhile': async (trial) => {
    const { token } = await trial.take()
    await expectLost(trial, token, trial.key, async () => {
      ok(await trial.renew(token))
      deepStrictEqual(await trial.claim(trial.key, trial.another), BUSY)
      ok(await trial.store.complete(`${trial.key}:other`, (await trial.take(`${trial.key}:other`)).token))
      await trial.outlastLease()
      await trial.take(trial.key, trial.another)
    })
  },
  'rolls back a transaction whose handler is given up while it runs': async (trial) => {
    const { token } = await trial.take()
    const controller = new AbortController()
    const reason = new Error('given up')
    const running = trial.transact({ token, signal: controller.signal }, async (tx) => {
      await trial.write(tx, 'row')
      controller.abort(reason)
      await nextTurn()
    })
    await rejects(running, (thrown) => thrown === reason)
    await expectNothing(trial, token)
  },
}

export const transactionCases = [
  ...toCases(CASES, { needs: 'transaction' }),
  ...toCases(ASYNCHRONOUS, { needs: 'asynchronous transaction' }),
]

/** Checks that neither the row nor the mark exists, and that the claim still does. */
async function expectNothing(trial: Trial, token: string): Promise<void> {
  strictEqual(await trial.has('row'), false)
  ok(await trial.store.release(trial.key, token, []))
  deepStrictEqual((await trial.take()).marks, [])
}

/** Checks that a transaction is rolled back since another one has the claim, or takes it meanwhile. */
async function expectLost(
  trial: Trial,
  token: string,
  key = trial.key,
  meanwhile: () => unknown = () => {},
): Promise<void> {
  const work = (tx: unknown) => trial.writeThen(tx, key, meanwhile)
  await rejects(trial.transact({ key, token }, work), { code: 'lease_lost' })
  strictEqual(await trial.has(key), false)
}

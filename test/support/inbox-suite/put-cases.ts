import { deepStrictEqual, notStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { DONE, expectWhole, fail, makeItem, type Runs } from './trial.ts'

export const putCases: Runs = {
  'keeps an item byte for byte, where every process finds it': async (trial) => {
    const bytes = new Uint8Array([...Array(256).keys(), 0, 0, 255])
    const trace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'a=1' }
    const receivedAt = Date.now() - 60_000
    const item = makeItem({
      bytes,
      trace,
      source: 'účet 💳',
      accountKey: 'Ä "quoted" \\ {key}',
      type: 'a.b',
      receivedAt,
    })
    await trial.put(item)
    const entry = await trial.get(item.key)
    expectWhole(entry, item)
    deepStrictEqual([entry.state, entry.failures, entry.deaths], ['waiting', 0, 0])
    deepStrictEqual([entry.marks, entry.tries], [[], []])
  },
  'leaves out what an item does not have': async (trial) => {
    const [bare, traced] = [makeItem(), makeItem({ trace: { traceparent: '00-4bf92f35-00f067aa-01' } })]
    await trial.put(bare, traced)
    const { source, trace } = await trial.get(bare.key)
    deepStrictEqual([source, trace], [undefined, undefined])
    deepStrictEqual((await trial.get(traced.key)).trace, traced.trace)
  },
  'keeps bodies without and with many bytes': async (trial) => {
    for (const length of [0, 1_048_576]) {
      const item = makeItem({ bytes: new Uint8Array(length).fill(7) })
      await trial.put(item)
      strictEqual((await trial.get(item.key)).bytes.length, length)
    }
  },
  'holds keys apart that differ in little': async (trial) => {
    const long = 'x'.repeat(380)
    const short = ['a', 'A', 'a ', 'a:', '{a}', '%', '_', '*', "'", '"', '\\', '0', '-1', '__proto__']
    // Accounts may use the same ids.
    const items = [...short, `${long}1`, `${long}2`].map((ending) =>
      makeItem({ key: `suite:acme:${ending}`, id: 'evt_1', source: `of ${ending}` }),
    )
    await trial.put(...items)
    for (const item of items) strictEqual((await trial.get(item.key)).source, item.source)
    strictEqual((await trial.inbox.counts()).waiting, items.length)
  },
  'takes a key once, however many put it in at once': async (trial) => {
    const item = makeItem()
    await Promise.all(Array.from({ length: 50 }, (_, n) => (n % 2 ? trial.inbox : trial.another).put(item)))
    strictEqual((await trial.inbox.counts()).waiting, 1)
    trial.work(() => DONE)
    await trial.untilGone(item)
    await sleep(100)
    strictEqual(trial.taken.length, 1)
  },
  'leaves an item as it is that comes again while it waits for its next try, which any worker makes': async (trial) => {
    const [item, delayMs] = [makeItem(), 1_000]
    await trial.put(item)
    let failedAt = Number.POSITIVE_INFINITY
    const first = trial.work((taken) => {
      failedAt = performance.now()
      return fail(taken, delayMs)
    })
    await trial.until('it waits again', () => trial.settled.length === 1)
    await first.close(10_000)
    const before = await trial.get(item.key)
    await trial.put({ ...item, bytes: new Uint8Array(3), receivedAt: 0 })
    deepStrictEqual(await trial.get(item.key), before)
    let triedMs = 0
    trial.work(
      () => {
        triedMs = performance.now() - failedAt
        return DONE
      },
      { inbox: trial.another },
    )
    await trial.until('another worker tried it', () => triedMs > 0)
    ok(triedMs >= delayMs - 10, `the next try came after ${triedMs} ms`)
  },
  'keeps the place of an item that comes again while it waits': async (trial) => {
    const [first = makeItem(), ...others] = Array.from({ length: 6 }, () => makeItem())
    for (const other of others) await trial.put(first, other)
    await trial.another.put(first)
    trial.work(() => DONE, { concurrency: 1 })
    await trial.until('all ran', () => trial.taken.length === 6)
    notStrictEqual(trial.keysTaken.at(-1), first.key)
  },
  'counts, and finds nothing where there is nothing': async (trial) => {
    const lanes = trial.inbox.keepsLanes === true ? { parked: 0, oldestParkedAt: undefined } : {}
    const none = { waiting: 0, running: 0, dead: 0, oldestDueAt: undefined, ...lanes }
    deepStrictEqual(await trial.inbox.counts(), none)
    strictEqual(await trial.inbox.get('suite:acme:nothing'), undefined)
    strictEqual(await trial.inbox.drop('suite:acme:nothing'), false)
    strictEqual(await trial.inbox.replay('suite:acme:nothing'), false)
    deepStrictEqual(await trial.inbox.list('dead'), { entries: [], next: undefined })
    const before = Date.now()
    await trial.put(makeItem(), makeItem())
    const { waiting, oldestDueAt = 0 } = await trial.another.counts()
    strictEqual(waiting, 2)
    ok(oldestDueAt >= before - 1_000 && oldestDueAt <= Date.now() + 1_000, `${oldestDueAt}`)
  },
}

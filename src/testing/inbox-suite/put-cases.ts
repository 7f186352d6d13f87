import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { DONE, makeItem, type Runs } from './trial.ts'

export const putCases: Runs = {
  'keeps an item byte for byte, where every process finds it': async (trial) => {
    const bytes = new Uint8Array([...Array(256).keys(), 0, 0, 255])
    const trace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'a=1' }
    const item = makeItem({ bytes, trace, source: 'shop', accountKey: 'Ä "quoted" \\ {key}', type: 'a.b' })
    await trial.put(item)
    const { key, accountKey, id, type, receivedAt, source, ...rest } = await trial.get(item.key)
    deepStrictEqual(new Uint8Array(rest.bytes), bytes)
    const { bytes: _bytes, trace: _trace, ...plain } = item
    deepStrictEqual({ key, accountKey, id, type, receivedAt, source }, plain)
    deepStrictEqual(rest.trace, trace)
    deepStrictEqual([rest.state, rest.failures, rest.deaths], ['waiting', 0, 0])
    deepStrictEqual([rest.marks, rest.tries], [[], []])
  },
  'leaves out what an item does not have': async (trial) => {
    const item = makeItem()
    await trial.put(item)
    const entry = await trial.get(item.key)
    deepStrictEqual([entry.source, entry.trace], [undefined, undefined])
  },
  'keeps bodies without and with many bytes': async (trial) => {
    for (const length of [0, 1_048_576]) {
      const item = makeItem({ bytes: new Uint8Array(length).fill(7) })
      await trial.put(item)
      strictEqual((await trial.get(item.key)).bytes.length, length)
    }
  },
  'holds keys apart that differ in little': async (trial) => {
    const endings = ['a', 'A', 'a ', 'a:', '{a}', '%', '_', '*', "'", '"', '\\', '0', '-1', '__proto__']
    const items = endings.map((ending) => makeItem({ key: `suite:acme:${ending}`, id: `id ${ending}` }))
    await trial.put(...items)
    for (const item of items) strictEqual((await trial.get(item.key)).id, item.id)
    strictEqual((await trial.inbox.counts()).waiting, items.length)
  },
  'takes a key once, however many put it in at once': async (trial) => {
    const item = makeItem()
    await Promise.all(Array.from({ length: 50 }, (_, n) => (n % 2 ? trial.inbox : trial.another).put(item)))
    strictEqual((await trial.inbox.counts()).waiting, 1)
    let runs = 0
    trial.work(() => {
      runs++
      return DONE
    })
    await trial.until('the item is gone', async () => (await trial.inbox.get(item.key)) === undefined)
    await sleep(100)
    strictEqual(runs, 1)
  },
  'leaves an item as it is that comes again while it runs': async (trial) => {
    const item = makeItem()
    await trial.put(item)
    let runs = 0
    trial.work(async () => {
      runs++
      await trial.another.put({ ...item, bytes: new Uint8Array(3) })
      deepStrictEqual(new Uint8Array((await trial.get(item.key)).bytes), item.bytes)
      return DONE
    })
    await trial.until('the item is gone', async () => (await trial.inbox.get(item.key)) === undefined)
    await sleep(100)
    strictEqual(runs, 1)
  },
  'takes a key again that is done': async (trial) => {
    const item = makeItem()
    let runs = 0
    trial.work(() => {
      runs++
      return DONE
    })
    await trial.put(item)
    await trial.until('it ran', async () => runs === 1 && (await trial.inbox.get(item.key)) === undefined)
    await trial.put(item)
    await trial.until('it ran again', () => runs === 2)
  },
  'counts, and finds nothing where there is nothing': async (trial) => {
    deepStrictEqual(await trial.inbox.counts(), { waiting: 0, running: 0, dead: 0, oldestDueAt: undefined })
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

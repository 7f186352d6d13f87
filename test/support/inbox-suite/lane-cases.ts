import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { InboxItem, TakenItem } from '../../../src/inbox/inbox.ts'
import { bury, DONE, fail, makeItem, type Runs, type Trial } from './trial.ts'

const inLane = (lane: string | undefined) => makeItem({ lane })

/** Makes the case of an engine that keeps lanes. Another one passes it. */
function casesOfLanes(runs: Runs): Runs {
  const toCase = (run: Runs[string]) => async (trial: Trial) => {
    if (trial.inbox.keepsLanes === true) await run(trial)
  }
  return Object.fromEntries(Object.entries(runs).map(([name, run]) => [name, toCase(run)]))
}

/** Runs items for a while each, and notes when two of a lane run at the same time. */
class Watch {
  readonly overlaps: string[] = []
  readonly order: string[] = []
  most = 0
  readonly #running: TakenItem[] = []

  async run(item: TakenItem, ms: number) {
    if (this.#running.some(({ lane }) => lane !== undefined && lane === item.lane)) this.overlaps.push(item.key)
    this.#running.push(item)
    this.most = Math.max(this.most, this.#running.length)
    this.order.push(item.key)
    await sleep(ms)
    this.#running.splice(this.#running.indexOf(item), 1)
    return DONE
  }

  orderOf(items: readonly InboxItem[]): readonly string[] {
    return this.order.filter((key) => items.some((item) => item.key === key))
  }
}

const toKeys = (items: readonly Pick<InboxItem, 'key'>[]) => items.map(({ key }) => key)

export const laneCases: Runs = casesOfLanes({
  'runs the items of a lane one at a time, in order of arrival, and those of other lanes meanwhile': async (trial) => {
    const watch = new Watch()
    const items = Array.from({ length: 20 }, (_, n) => inLane(n % 2 === 0 ? 'a' : 'b'))
    await trial.put(...items)
    trial.work((item) => watch.run(item, 10))
    trial.work((item) => watch.run(item, 10), { inbox: trial.another })
    await trial.until('all ran', () => watch.order.length === 20)
    deepStrictEqual([watch.overlaps, watch.most], [[], 2])
    for (const parity of [0, 1]) {
      const ofLane = items.filter((_, n) => n % 2 === parity)
      deepStrictEqual(watch.orderOf(ofLane), toKeys(ofLane))
    }
  },
  'keeps the order of items that are put together, with others between': async (trial) => {
    const watch = new Watch()
    const items = Array.from({ length: 60 }, (_, n) => inLane(['a', undefined, `b"\\'%é ${'x'.repeat(300)}`][n % 3]))
    await Promise.all(items.map((item) => trial.inbox.put(item)))
    trial.work((item) => watch.run(item, 1))
    await trial.until('all ran', () => watch.order.length === 60)
    deepStrictEqual(watch.overlaps, [])
    for (const third of [0, 2]) {
      const ofLane = items.filter((_, n) => n % 3 === third)
      deepStrictEqual(watch.orderOf(ofLane), toKeys(ofLane))
      for (const item of trial.taken) strictEqual(item.lane, items.find(({ key }) => key === item.key)?.lane)
    }
  },
  'counts, lists and shows what waits for another item of its lane': async (trial) => {
    const before = Date.now()
    const [first, second, third, other] = [inLane('a'), inLane('a'), inLane('a'), inLane(undefined)]
    await trial.put(first, second, third, other)
    await trial.put(third) // changes nothing
    const { waiting, parked, oldestParkedAt = 0 } = await trial.another.counts()
    deepStrictEqual([waiting, parked], [4, 2])
    ok(oldestParkedAt >= before - 1_000 && oldestParkedAt <= Date.now() + 1_000, `${oldestParkedAt}`)
    const listed = await trial.another.list('waiting')
    deepStrictEqual(toKeys(listed.entries).sort(), toKeys([first, second, third, other]).sort())
    const shown = await Promise.all([first, third, other].map(({ key }) => trial.get(key)))
    deepStrictEqual(
      shown.map(({ state, lane, behind }) => [state, lane, behind]),
      [
        ['waiting', 'a', undefined],
        ['waiting', 'a', first.key],
        ['waiting', undefined, undefined],
      ],
    )
  },
  'holds a lane while its first item waits for its next try, and counts nothing of it as due': async (trial) => {
    const [first, second, third] = [inLane('a'), inLane('a'), inLane('a')]
    await trial.put(first, second)
    trial.work((item) => (item.failures === 0 ? fail(item, 1_000) : DONE))
    await trial.until('it failed', async () => (await trial.get(first.key)).failures === 1)
    await trial.put(third)
    const { oldestDueAt, parked } = await trial.another.counts()
    deepStrictEqual([oldestDueAt, parked, trial.keysTaken], [undefined, 2, [first.key]])
    await trial.untilGone(third)
    deepStrictEqual([...new Set(trial.keysTaken)], toKeys([first, second, third]))
  },
  'goes on with a lane whose item leaves it, and has that one join it again': async (trial) => {
    const [first, second, third] = [inLane('a'), inLane('a'), inLane('a')]
    await trial.put(first, second, third)
    const watch = new Watch()
    trial.work(async (item) => {
      if (item.key === first.key && item.failures === 0) return { ...fail(item, 200), leavesLane: true }
      return watch.run(item, item.key === second.key ? 1_000 : 10)
    })
    await trial.until('the first one left', async () => (await trial.get(first.key)).failures === 1)
    strictEqual((await trial.get(first.key)).lane, 'a')
    await trial.until('all ran', () => watch.order.length === 3)
    deepStrictEqual([watch.overlaps, watch.order], [[], toKeys([second, first, third])])
  },
  'makes the later try of an item due by a replay, but no item that waits behind another one': async (trial) => {
    for (const leavesLane of [false, true]) {
      const [first, second] = [inLane('a'), inLane('a')]
      await trial.put(first)
      const failing = trial.work((item) => ({ ...fail(item, 3_600_000), leavesLane }))
      await trial.until('it failed', async () => (await trial.get(first.key)).failures === 1)
      await failing.close(10_000)
      await trial.put(second)
      strictEqual(await trial.another.replay(second.key), false)
      ok(await trial.another.replay(first.key))
      const watch = new Watch()
      const loop = trial.work((item) => watch.run(item, 10))
      await Promise.all([trial.untilGone(first), trial.untilGone(second)])
      await loop.close(10_000)
      // One that has left is behind the others, however late those came.
      deepStrictEqual([watch.overlaps, watch.order], [[], toKeys(leavesLane ? [second, first] : [first, second])])
    }
  },
  'goes on with a lane whose item becomes a dead letter, and replays that one last': async (trial) => {
    const [first, second, third] = [inLane('a'), inLane('a'), inLane('a')]
    await trial.put(first, second, third)
    trial.work(async (item) => {
      if (item.key === first.key && item.failures === 0 && item.tries.length === 0) return bury(item)
      if (item.key === second.key) ok(await trial.another.replay(first.key))
      return DONE
    })
    await trial.until('all ran', () => trial.taken.length === 4)
    deepStrictEqual(trial.keysTaken, toKeys([first, second, third, first]))
  },
  'has a dead letter that comes again join its lane at the end': async (trial) => {
    const [first, second, third] = [inLane('a'), inLane('a'), inLane('a')]
    await trial.put(first)
    const loop = trial.work(bury)
    await trial.until('it is dead', async () => (await trial.inbox.counts()).dead === 1)
    await loop.close(10_000)
    await trial.put(second, third, first)
    strictEqual((await trial.get(first.key)).behind, second.key)
    trial.work(() => DONE)
    await trial.untilGone(first)
    deepStrictEqual(trial.keysTaken, toKeys([first, second, third, first]))
  },
  'goes on with a lane whose waiting items are dropped': async (trial) => {
    const [first, second, third] = [inLane('a'), inLane('a'), inLane('a')]
    await trial.put(first, second, third)
    for (const { key } of [second, first]) ok(await trial.another.drop(key))
    trial.work(() => DONE)
    await trial.untilGone(third)
    deepStrictEqual(trial.keysTaken, [third.key])
  },
  'holds a lane while the worker of its first item may be alive, and until that one ran again': async (trial) => {
    const [first, second] = [inLane('a'), inLane('a')]
    await trial.put(first)
    await trial.dieAt(first.key)
    await trial.put(second)
    trial.work(() => DONE)
    await trial.untilGone(second)
    deepStrictEqual(trial.keysTaken, toKeys([first, second]))
  },
  'runs no two items of a lane at the same time, and leaves none behind, whatever happens concurrently': async (
    trial,
  ) => {
    const watch = new Watch()
    const count = 600
    const luck = (share: number) => Math.random() < share
    const work = async (item: TakenItem) => {
      if (item.failures > 0 || luck(0.85)) return watch.run(item, Math.random() * 3)
      if (luck(0.3)) return bury(item)
      return { ...fail(item, Math.random() * 20), leavesLane: luck(0.5) }
    }
    for (const inbox of [trial.inbox, trial.another]) trial.work(work, { concurrency: 20, inbox })
    const items = Array.from({ length: count }, (_, n) => inLane(n % 10 === 0 ? undefined : `lane ${n % 12}`))
    const steer = async (inbox: Trial['inbox'], start: number) => {
      for (let n = start; n < count; n += 8) {
        const item = items[n]
        if (item !== undefined) await inbox.put(item)
        if (item !== undefined && luck(0.05) && (await inbox.drop(item.key))) watch.order.push(item.key)
        if (luck(0.2)) await sleep(Math.random() * 10)
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, n) => steer(n % 2 === 0 ? trial.inbox : trial.another, n)))
    await trial.until('all are gone', async () => {
      for (const { key } of (await trial.inbox.list('dead')).entries) await trial.another.replay(key)
      const { waiting, running, dead } = await trial.inbox.counts()
      return waiting + running + dead === 0
    })
    deepStrictEqual([watch.overlaps, new Set(watch.order).size], [[], count])
  },
})

import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { dropAll } from '../../../src/inbox/drop-all.ts'
import type { InboxItem } from '../../../src/inbox/inbox.ts'
import { bury, DONE, fail, makeItem, type Runs, type Trial } from './trial.ts'

async function buryAll(trial: Trial, items: readonly InboxItem[], marks: readonly string[] = []): Promise<void> {
  await trial.put(...items)
  const loop = trial.work((taken) => bury(taken, marks))
  await trial.until('all are dead', async () => (await trial.inbox.counts()).dead === items.length)
  await loop.close(10_000)
}

export const deadCases: Runs = {
  'keeps a dead letter with its try and its marks, and does not run it': async (trial) => {
    const before = Date.now()
    const item = makeItem({ receivedAt: before - 60_000 })
    const marks = ['a,b', 'Save *', ...Array.from({ length: 100 }, (_, index) => `${'x'.repeat(100)} ${index}`)]
    await buryAll(trial, [item], marks)
    const entry = await trial.get(item.key)
    ok(entry.dueAt >= before - 1_000, `it says that it is dead since ${entry.dueAt}`)
    strictEqual(entry.state, 'dead')
    deepStrictEqual(entry.marks, marks)
    deepStrictEqual(
      entry.tries.map(({ code }) => code),
      ['dead_letter'],
    )
    const { waiting, running, dead } = await trial.another.counts()
    deepStrictEqual([waiting, running, dead], [0, 0, 1])
  },
  'replays a dead letter with fresh tries and the marks that it kept': async (trial) => {
    const item = makeItem()
    await trial.put(item)
    const first = trial.work((taken) => (taken.failures === 0 ? fail(taken) : bury(taken, ['a,b'])))
    await trial.until('it is dead', async () => (await trial.inbox.counts()).dead === 1)
    await first.close(10_000)
    const { since } = await trial.get(item.key)
    ok(await trial.another.replay(item.key))
    strictEqual(await trial.another.replay(item.key), false)
    trial.work(() => DONE)
    await trial.untilGone(item)
    const again = trial.taken.at(-1)
    const numbers = again?.tries.map(({ n }) => n)
    deepStrictEqual([trial.taken.length, again?.failures, again?.marks, numbers], [3, 0, ['a,b'], [1, 2]])
    ok((again?.since ?? 0) >= since)
  },
  'replays a dead letter that three workers died at as if none had': async (trial) => {
    const item = makeItem()
    await trial.put(item)
    for (let death = 0; death < 3; death++) await trial.dieAt(item.key)
    trial.work((taken) => (trial.taken.length === 1 ? bury(taken) : DONE))
    await trial.until('it was replayed', () => trial.another.replay(item.key))
    await trial.until('it ran again', () => trial.taken.length === 2)
    const seen = trial.taken.map(({ deaths, isSuspect }) => `${deaths} ${isSuspect === true}`)
    deepStrictEqual(seen, ['1 true', '0 false'])
  },
  'replays once what is replayed twice at once': async (trial) => {
    const item = makeItem()
    await buryAll(trial, [item])
    const answers = await Promise.all([
      ...[trial.inbox.replay(item.key), trial.another.replay(item.key)],
      ...[trial.inbox.replay(item.key), trial.another.replay(item.key)],
    ])
    strictEqual(answers.filter((isReplayed) => isReplayed).length, 1)
    trial.work(() => DONE)
    await trial.untilGone(item)
    strictEqual(trial.taken.length, 2) // buried, and replayed
  },
  'drops all of an account, whatever their state but running, and nothing else': async (trial) => {
    const ofAccount = (account: string, count: number, type = 'contact.created') =>
      Array.from({ length: count }, () => makeItem({ account, type }))
    const kept = [...ofAccount('kept', 120), ...ofAccount('gone', 1, 'contact.deleted')]
    await buryAll(trial, ofAccount('gone', 30))
    const slow = makeItem({ account: 'gone' })
    await trial.put(slow)
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const loop = trial.work(() => ended.then(() => DONE), { concurrency: 1 })
    await trial.until('one runs', async () => (await trial.another.counts()).running === 1)
    await trial.put(...ofAccount('gone', 130), ...kept)
    const of = { accountKey: 'gone', isOfType: (type: string) => type === 'contact.created' }
    const { found, dropped } = await dropAll(trial.another, { ...of, dryRun: true })
    deepStrictEqual([found, dropped], [160, 0])
    const reads: number[] = []
    const result = await dropAll(trial.another, { ...of, onProgress: ({ dropped }) => void reads.push(dropped) })
    deepStrictEqual([result.found, result.dropped, result.running, reads.at(-1)], [160, 160, 1, 160])
    for (const { key } of kept) strictEqual((await trial.get(key)).key, key)
    const closing = loop.close(10_000)
    end()
    await closing
    const { waiting, running, dead } = await trial.inbox.counts()
    deepStrictEqual([waiting, running, dead], [kept.length, 0, 0])
  },
  'lists page by page, each item once, though what was listed is replayed': async (trial) => {
    const items = Array.from({ length: 25 }, () => makeItem())
    await buryAll(trial, items)
    const keys: string[] = []
    let pages = 0
    let after: string | undefined
    do {
      const page = await trial.another.list('dead', { after, limit: 10 })
      ok(page.entries.length <= 10)
      for (const { key } of page.entries) {
        keys.push(key)
        ok(await trial.inbox.replay(key))
      }
      after = page.next
      pages++
    } while (after !== undefined)
    strictEqual(pages, 3)
    deepStrictEqual([...keys].sort(), items.map(({ key }) => key).sort())
  },
  'lists what waits page by page, though what was listed is gone': async (trial) => {
    const items = Array.from({ length: 25 }, () => makeItem())
    await trial.put(...items)
    const { entries, next } = await trial.another.list('waiting', { limit: 10 })
    for (const { key } of entries) await trial.inbox.drop(key)
    const rest = await trial.another.list('waiting', { after: next })
    deepStrictEqual([...entries, ...rest.entries].map(({ key }) => key).sort(), items.map(({ key }) => key).sort())
  },
  'lists what waits now and what waits for later': async (trial) => {
    const items = Array.from({ length: 7 }, () => makeItem())
    const later = new Set(items.slice(0, 3).map(({ key }) => key))
    await trial.put(...items.slice(0, 3))
    const loop = trial.work((taken) => fail(taken, 60_000))
    await trial.until('three were tried', async () => {
      const { entries } = await trial.another.list('waiting')
      return entries.filter(({ tries }) => tries.length === 1).length === 3
    })
    await loop.close(10_000)
    await trial.put(...items.slice(3))
    const first = await trial.another.list('waiting', { limit: 5 })
    const second = await trial.another.list('waiting', { limit: 5, after: first.next })
    strictEqual(second.next, undefined)
    const entries = [...first.entries, ...second.entries]
    deepStrictEqual(entries.map(({ key }) => key).sort(), items.map(({ key }) => key).sort())
    for (const { key, tries } of entries) strictEqual(tries.length, later.has(key) ? 1 : 0)
  },
}

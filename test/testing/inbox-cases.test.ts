import type { Inbox } from 'postern'
import { inboxSuite } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import type { InboxWorkOptions } from '../../src/engine.ts'
import { type Fault, MemoryInbox, type MemoryTable } from './memory-inbox.ts'
import { runAtSpeed } from './run-at-speed.ts'

const WORKS = 'gives a worker the item as it was put in'
const LISTS = 'lists page by page, each item once'

/** Runs a case on inboxes without a fault that `change` makes from those in memory. */
async function runCase(name: string, change: (inbox: MemoryInbox) => Inbox, fault: Fault | 'none' = 'none') {
  const tables = new Map<string, MemoryTable>()
  const cases = inboxSuite((table) => change(new MemoryInbox(table, tables, fault)))
  await cases.find((each) => each.name === name)?.run()
}

/** An inbox with some methods of its own. */
function replace(inbox: MemoryInbox, methods: Partial<Inbox>): Inbox {
  const { put, work, counts, list, get, replay, drop } = inbox
  const bound = { put, work, counts, list, get, replay, drop }
  for (const [name, method] of Object.entries(bound)) Object.assign(bound, { [name]: method.bind(inbox) })
  return { ...bound, ...methods }
}

describe('the cases of the inbox suite', () => {
  it('use two inboxes of one name each, which no other case uses and every engine takes', async () => {
    const made: string[] = []
    const tables = new Map<string, MemoryTable>()
    const cases = inboxSuite((table) => {
      made.push(table)
      return new MemoryInbox(table, tables, 'none')
    })
    for (const { name, run } of cases) if ([WORKS, LISTS].includes(name)) await run()
    const [one, same, other, again] = made
    expect([made.length, same, again]).toEqual([4, one, other])
    expect(one).not.toBe(other)
    for (const name of made) expect(name).toMatch(/^suite_[0-9a-f]{32}$/)
  })

  it('fail with each error that the engine reports to its worker', async () => {
    const failure = new Error('the disk is full')
    const failing = runCase(WORKS, (inbox) =>
      replace(inbox, {
        work: (run, options: InboxWorkOptions) => {
          options.onError(failure)
          return inbox.work(run, options)
        },
      }),
    )
    await expect(failing).rejects.toMatchObject({
      ...{ name: 'AggregateError', message: 'the engine, or a check, failed in a worker', errors: [failure] },
    })
  })

  it('end their workers immediately, also if they fail', async () => {
    const closed: number[] = []
    const failing = runCase(
      WORKS,
      (inbox) =>
        replace(inbox, {
          work: (run, options) => {
            const loop = inbox.work(run, options)
            return {
              close: (timeoutMs) => {
                closed.push(timeoutMs)
                return loop.close(timeoutMs)
              },
            }
          },
        }),
      'loses the source',
    )
    await expect(failing).rejects.toThrow(/source/)
    expect(closed).toEqual([0])
  })

  it('give up after 30 s, and say what did not happen', async () => {
    const idle = { work: () => ({ close: async () => 0 }) }
    const started = performance.now()
    const waiting = runAtSpeed(300, () => runCase(WORKS, (inbox) => replace(inbox, idle)))
    await expect(waiting).rejects.toThrow('it ran: not within 30 s')
    const tookMs = performance.now() - started
    expect(tookMs).toBeGreaterThan(95)
  })
})

import { type Inbox, pollInbox } from 'postern'
import { inboxSuite } from 'postern/testing'
import { describe, it } from 'vitest'
import { PlainInboxEngine } from './inbox-engine.ts'

const engines = new Map<string, PlainInboxEngine>()
let workers = 0

/** The simulated engine as an inbox on the machine's own clock. */
function toInbox(name: string): Inbox {
  const engine = engines.get(name) ?? new PlainInboxEngine(Date.now)
  engines.set(name, engine)
  const inState = (wanted: string) => engine.entries().filter(({ state }) => state === wanted)
  const wakers = new Set<() => void>()
  const wake = () => {
    for (const waker of wakers) waker()
  }
  const table = {
    take: async (request: Parameters<typeof engine.take>[0]) => engine.take(request),
    renew: async (worker: string, leaseMs: number) => engine.renew(worker, leaseMs),
    settle: async (...of: Parameters<typeof engine.settle>) => engine.settle(...of),
    onPut: (callback: () => void) => {
      wakers.add(callback)
      return () => wakers.delete(callback)
    },
  }
  return {
    put: async (item) => {
      if (engine.put(item)) wake()
    },
    work: (run, options) => pollInbox(table, `worker ${++workers}`, run, options),
    counts: async () => {
      const due = inState('waiting').flatMap(({ dueAt }) => (dueAt <= Date.now() ? [dueAt] : []))
      const [waiting, running, dead] = [inState('waiting'), inState('running'), inState('dead')].map(
        ({ length }) => length,
      )
      return {
        ...{ waiting: waiting ?? 0, running: running ?? 0, dead: dead ?? 0 },
        oldestDueAt: due.length === 0 ? undefined : Math.min(...due),
      }
    },
    list: async (state, { after = '0', limit = 100 } = {}) => {
      const to = Number(after) + limit
      const all = inState(state)
      return { entries: all.slice(Number(after), to), next: all.length > to ? String(to) : undefined }
    },
    get: async (key) => engine.entries().find((entry) => entry.key === key),
    replay: async (key) => {
      const isReplayed = engine.replay(key)
      if (isReplayed) wake()
      return isReplayed
    },
    drop: async (key) => engine.drop(key),
  }
}

describe('the simulated engine of the inbox', () => {
  for (const { name, run } of inboxSuite(toInbox)) it.concurrent(name, run)
})

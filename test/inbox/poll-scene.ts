import type { InboxEntry } from 'postern'
import { manualClock } from 'postern/testing'
import type { Settlement, TakenItem } from '../../src/engine.ts'
import type { InboxTable, Taken, TakeRequest } from '../../src/inbox/inbox-table.ts'
import { pollInbox } from '../../src/inbox/poll.ts'
import { Gate } from '../support/gate.ts'

const DONE: Settlement = { next: 'remove' }
export const NOTHING: Taken = { items: [] }

function makeEntry(key: string): InboxEntry {
  const event = { accountKey: 'acme', id: key, type: 'a.created', receivedAt: 0, since: 0, dueAt: 0 }
  return { key, bytes: new Uint8Array(), ...event, state: 'running', failures: 0, deaths: 0, marks: [], tries: [] }
}

export const bring = (...keys: readonly string[]): Taken => ({ items: keys.map(makeEntry) })

/** A worker on an engine whose part the test plays, with the times of its calls. */
export function openPoll({ concurrency = 5, leaseMs = 9_000, brought = [] as readonly (Taken | Error)[] } = {}) {
  const clock = manualClock(0)
  const takes: (TakeRequest & { readonly at: number })[] = []
  const renewals: (readonly [at: number, worker: string, leaseMs: number])[] = []
  const settlements: (readonly [at: number, key: string, next: Settlement['next']])[] = []
  const told: string[] = []
  const ends = new Map<string, (settlement: Settlement) => void>()
  const items = new Map<string, TakenItem>()
  const listeners = new Set<() => void>()
  const engine = {
    /** Answers of the next polls. */
    brought: [...brought] as (Taken | Error | Promise<Taken>)[],
    /** Answers once there are no more of these. */
    take: (_: TakeRequest): Taken => NOTHING,
    renew: async (): Promise<unknown> => undefined,
    settle: async (): Promise<boolean> => true,
  }
  const table: InboxTable = {
    take: async (request) => {
      takes.push({ ...request, at: clock.now() })
      const answer = engine.brought.shift() ?? engine.take(request)
      if (answer instanceof Error) throw answer
      return answer
    },
    renew: (...request) => {
      renewals.push([clock.now(), ...request])
      return engine.renew()
    },
    settle: (item, worker, { next }) => {
      settlements.push([clock.now(), `${item.key} of ${worker}`, next])
      return engine.settle()
    },
    onPut: (callback) => {
      listeners.add(callback)
      return () => void listeners.delete(callback)
    },
  }
  const work = (isTold = true) => {
    const run = (item: TakenItem) => {
      items.set(item.key, item)
      return new Promise<Settlement>((resolve) => ends.set(item.key, resolve))
    }
    return pollInbox(table, 'w', run, {
      concurrency,
      leaseMs,
      clock,
      onError: (error) => void told.push(`error ${(error as Error).message}`),
      onSettled: ({ key }, { next }) => void told.push(`settled ${key} ${next}`),
      ...(isTold ? { onStalled: ({ key }: TakenItem) => void told.push(`stalled ${key}`) } : {}),
    })
  }
  /** Leaves the next poll without an answer until the function that it returns is called. */
  const holdTake = () => {
    const gate = new Gate<Taken>()
    engine.brought = [gate.promise]
    return gate.open
  }
  const end = (key: string, settlement = DONE) => ends.get(key)?.(settlement)
  const put = () => {
    for (const listener of listeners) listener()
  }
  const timesOfTakes = () => takes.map(({ at }) => at)
  return { clock, engine, takes, timesOfTakes, renewals, settlements, told, items, listeners, work, holdTake, end, put }
}

import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Pace {
  /** Number of calls at the same time. */
  readonly concurrent: number
  /** Number of starts in a second. Default: no limit. */
  readonly rate?: number | undefined
  /** Calls in any order. */
  readonly shuffle?: true
}

/** Calls `send` for each item, at a pace. Starts no more after the signal or a failure. */
export async function sendAll<T>(
  items: readonly T[],
  send: (item: T) => Promise<void>,
  pace: Pace & { readonly signal: AbortSignal },
): Promise<void> {
  const { concurrent, rate } = pace
  const all = pace.shuffle ? shuffle(items) : items
  const end = new AbortController()
  const signal = AbortSignal.any([pace.signal, end.signal])
  setMaxListeners(0, signal) // Node would warn of a leak: each waiting item has a listener
  const begin = performance.now()
  const queue = all.entries() // shared: each worker takes the next
  const work = async () => {
    for (const [index, item] of queue) {
      const ms = rate === undefined ? 0 : begin + (index * 1_000) / rate - performance.now()
      if (ms > 0) await sleep(ms, undefined, { signal }).catch(ignore)
      if (signal.aborted) return
      await send(item)
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(concurrent, all.length) }, work))
  } finally {
    end.abort()
  }
}

function shuffle<T>(all: readonly T[]): readonly T[] {
  return all
    .map((one) => ({ one, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one)
}

const ignore = () => {}

import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Pace {
  readonly concurrency: number
  /** Number of starts in a second; undefined for no limit. */
  readonly rate: number | undefined
  readonly signal: AbortSignal
}

export interface SendingOptions {
  readonly duplicate: number
  readonly concurrent: number
  readonly rate?: number
  readonly shuffle?: true
}

/** Calls `send` for each item, at a pace. Starts no more after the signal or a failure. */
export async function sendAll<T>(all: readonly T[], send: (one: T) => Promise<void>, pace: Pace): Promise<void> {
  const { concurrency, rate } = pace
  const end = new AbortController()
  const signal = AbortSignal.any([pace.signal, end.signal])
  setMaxListeners(0, signal) // Node would warn of a leak: each waiting item has a listener
  const begin = performance.now()
  let next = 0
  const work = async () => {
    for (let index = next++; index < all.length && !signal.aborted; index = next++) {
      const due = rate === undefined ? 0 : begin + (index * 1_000) / rate
      const ms = due - performance.now()
      if (ms > 0) await sleep(ms, undefined, { signal }).catch(ignore)
      const one = all[index]
      if (one !== undefined && !signal.aborted) await send(one)
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(concurrency, all.length) }, work))
  } finally {
    end.abort()
  }
}

export function shuffle<T>(all: readonly T[], random: () => number): readonly T[] {
  return all
    .map((one) => ({ one, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one)
}

const ignore = () => {}

import { medianOf, ratioOf } from '../harness.ts'

/** A contestant's figures of a round. */
export interface Figures {
  /** Microseconds an event. */
  readonly cpu: number
  /** Events a second. */
  readonly rate: number
  readonly p99?: number
  /** Mebibytes. */
  readonly rss: number
}

/** Deliveries that are under way at the same time. */
export const BESIDE = 64

/** The head of a table of accepted events, compared with a bare durable insert. */
export const ACCEPTED = ['backlog', 'events/s', 'of bare', 'µs CPU', 'of bare', 'p99 ms', 'MiB']

/** The ends of the names of the rows: without lanes, and in them. */
export const ROWS = ['', ', in lanes']

/** The cells of a row below `ACCEPTED`, except for the first. */
export function toCells(ours: readonly Figures[], bare: readonly Figures[]): readonly string[] {
  return [
    toRate(ours),
    ratioOf(ours, bare, ({ rate }) => rate).toFixed(2),
    medianOf(ours, ({ cpu }) => cpu).toFixed(1),
    ratioOf(ours, bare, ({ cpu }) => cpu).toFixed(2),
    medianOf(ours, ({ p99 = 0 }) => p99).toFixed(1),
    toMost(ours),
  ]
}

export function toRate(figures: readonly Figures[]): string {
  return Math.round(medianOf(figures, ({ rate }) => rate)).toLocaleString('en')
}

/** Returns the most memory of any round. */
export function toMost(figures: readonly Figures[]): string {
  return Math.max(...figures.map(({ rss }) => rss)).toFixed(0)
}

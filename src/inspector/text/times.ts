import { showDuration } from '../../host/duration.ts'
import { isTime } from '../../protocol/iso-time.ts'

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A time in the past, relative to now: `now`, `12 s ago`, `5 min ago`. */
export function showAgo(at: number, now: number): string {
  if (!isTime(at)) return 'unknown'
  const ms = now - at
  if (ms < 1_000) return 'now'
  return `${showDuration(roundDown(ms))} ago`
}

/** A time in the future, relative to now: `now`, `in 12 s`, `in 5 min 30 s`. */
export function showIn(at: number, now: number): string {
  if (!isTime(at)) return 'unknown'
  const ms = at - now
  if (ms <= 0) return 'now'
  return ms < 1_000 ? `in ${Math.round(ms)} ms` : `in ${showDuration(Math.ceil(ms / 1_000) * 1_000)}`
}

/** Rounds down to whole seconds, minutes, hours or days. */
function roundDown(ms: number): number {
  const [, size] = UNITS.find(([, size]) => ms >= size) ?? UNITS[3]
  return Math.floor(ms / size) * size
}

/** The exact time, as the tooltip of a relative one. */
export function showExact(at: string | null): string {
  return at?.replace('T', ' ') ?? 'unknown'
}

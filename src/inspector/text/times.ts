import { showDuration } from '../../host/duration.ts'
import { isTime } from '../../protocol/iso-time.ts'

/** A time in the past, relative to now: `now`, `12 s ago`, `5 min ago`. */
export function showAgo(at: number, now: number): string {
  if (!isTime(at)) return 'unknown'
  const ms = now - at
  if (ms < 1_000) return 'now'
  const [count, unit] = showDuration(Math.floor(ms / 1_000) * 1_000).split(' ')
  return `${count} ${unit} ago`
}

/** A time in the future, relative to now: `now`, `in 12 s`, `in 5 min 30 s`. */
export function showIn(at: number, now: number): string {
  if (!isTime(at)) return 'unknown'
  const ms = at - now
  if (ms <= 0) return 'now'
  return ms < 1_000 ? `in ${Math.round(ms)} ms` : `in ${showDuration(Math.ceil(ms / 1_000) * 1_000)}`
}

/** The exact time, as the tooltip of a relative one. */
export function showExact(at: string | null): string {
  return at?.replace('T', ' ') ?? 'unknown'
}

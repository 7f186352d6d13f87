import { showDuration } from '../../../src/host/duration.ts'
import { isTime } from '../../../src/protocol/iso-time.ts'

/** A time in the past, relative to now: `now`, `12 s ago`, `5 min ago`. */
export function showAgo(at: number, now: number): string {
  if (!isTime(at)) return 'unknown'
  return now - at < 1_000 ? 'now' : `${showShortly(Math.floor((now - at) / 1_000))} ago`
}

/** A time in the future, relative to now: `now`, `in 12 s`, `in 5 min`. */
export function showIn(at: number, now: number): string {
  if (!isTime(at)) return 'unknown'
  const ms = at - now
  if (ms <= 0) return 'now'
  return ms < 1_000 ? `in ${Math.round(ms)} ms` : `in ${showShortly(Math.ceil(ms / 1_000))}`
}

/** A duration in its largest unit alone. */
function showShortly(seconds: number): string {
  return showDuration(seconds * 1_000)
    .split(' ')
    .slice(0, 2)
    .join(' ')
}

/** The exact time in the zone of the machine: `2025-01-31 14:30:00.000 +01:00`. */
export function showExact(at: string | null): string {
  if (at === null) return 'unknown'
  const minutes = -new Date(at).getTimezoneOffset()
  const local = new Date(Date.parse(at) + minutes * 60_000).toISOString().replace('T', ' ').slice(0, -1)
  const zone = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((part) => String(part).padStart(2, '0'))
  return `${local} ${minutes < 0 ? '-' : '+'}${zone.join(':')}`
}

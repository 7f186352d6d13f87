import { isTime } from '../../protocol/iso-time.ts'

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A duration in one or two units: `4 ms`, `1.2 s`, `5 min 30 s`, `2 h 5 min`. */
export function showLength(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${Math.round(ms / 100) / 10} s`
  const at = UNITS.findIndex(([, size]) => Math.round(ms / 1_000) * 1_000 >= size)
  const [unit, size] = UNITS[at] ?? UNITS[3]
  const [smaller, smallerSize] = UNITS[at + 1] ?? [undefined, size]
  const whole = Math.floor(Math.round(ms / smallerSize) / (size / smallerSize))
  const rest = Math.round((ms - whole * size) / smallerSize)
  return smaller === undefined || rest <= 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${smaller}`
}

/** A time in the past, relative to now: `now`, `12 s ago`, `5 min ago`. */
export function showAgo(at: number, now: number): string {
  if (!isTime(at)) return 'unknown'
  const ms = now - at
  if (ms < 1_000) return 'now'
  return `${showLength(roundDown(ms))} ago`
}

/** A time in the future, relative to now: `now`, `in 12 s`, `in 5 min 30 s`. */
export function showIn(at: number, now: number): string {
  if (!isTime(at)) return 'unknown'
  const ms = at - now
  if (ms <= 0) return 'now'
  return ms < 1_000 ? `in ${Math.round(ms)} ms` : `in ${showLength(Math.ceil(ms / 1_000) * 1_000)}`
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

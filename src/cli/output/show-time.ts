const UNITS: readonly (readonly [ms: number, word: string])[] = [
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
]

/** Writes a duration with its two largest units: `50 ms`, `1.5 s`, `5 min`, `2 h 35 min`. */
export function showTime(ms: number): string {
  if (Math.round(ms) < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${Math.round(ms / 100) / 10} s`
  let rest = Math.round(ms / 1_000) * 1_000
  const parts: string[] = []
  for (const [size, word] of UNITS) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(`${count} ${word}`)
  }
  return parts.slice(0, 2).join(' ')
}

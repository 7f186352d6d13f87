const WORDS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** Shows a duration in its two largest units: `50 ms`, `1.5 s`, `5 min 30 s`, `2 h 36 min`. */
export function showDuration(ms: number): string {
  if (Number.isNaN(ms)) return 'an unknown time'
  if (Math.round(ms) < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${Math.round(ms / 100) / 10} s`
  const at = WORDS.findIndex(([, size]) => Math.round(ms / 1_000) * 1_000 >= size)
  const [unit, size] = WORDS[at] ?? WORDS[3]
  const [smaller, smallerSize] = WORDS[at + 1] ?? [undefined, size]
  const whole = Math.floor(Math.round(ms / smallerSize) / (size / smallerSize))
  const rest = Math.round((ms - whole * size) / smallerSize)
  return smaller === undefined || rest <= 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${smaller}`
}

import { show } from '../../src/protocol/show.ts'

const UNITS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }

/**
 * A length of time in milliseconds.
 *
 * @param length milliseconds, or text such as `30s`, `5m30s`, `2h`, `1d` or `250ms`
 */
export function parseDuration(length: number | string): number {
  if (typeof length === 'number' && length >= 0 && length < Infinity) return length
  if (typeof length === 'string' && /^(\d+(\.\d+)?(ms|[dhms]))+$/.test(length)) {
    const parts = length.matchAll(/([\d.]+)([a-z]+)/g)
    return [...parts].reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit] ?? 0), 0)
  }
  throw new TypeError(`${show(length)} is not a duration: give milliseconds, or text such as "30s", "5m30s" or "2h".`)
}

import { InvalidArgumentError } from 'commander'
import { parseDuration } from '../host/duration.ts'

/** Words with commas between them, and the option several times. */
export function collectWords(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...value.split(',').map((name) => name.trim())]
}

/** The option several times, each value as it stands. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

export function readCount(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new InvalidArgumentError('It is a whole number from 1 on.')
  return Number(value)
}

/** A number above 0, fractions too. */
export function readRate(value: string): number {
  if (!/^\d+(\.\d+)?$/.test(value) || Number(value) <= 0) throw new InvalidArgumentError('It is a number above 0.')
  return Number(value)
}

/** Milliseconds, 1 at least. */
export function readTime(value: string): number {
  let ms = 0
  try {
    ms = parseDuration(value)
  } catch {
    // Said below, as for a time of nothing.
  }
  if (ms < 1) throw new InvalidArgumentError('It is a number and a unit: 500ms, 10s, 5m30s, 2h.')
  return ms
}

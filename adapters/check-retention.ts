import { ConfigurationError } from '../src/index.ts'

/** 100 years: later times are beyond what Postgres adds without complaint, and no whole numbers to some drivers of SQLite. */
const LONGEST_RETENTION_MS = 100 * 365 * 24 * 3_600_000

/** @throws ConfigurationError `option_invalid` */
export function checkRetention(store: string, retentionMs: number): void {
  if (Number.isSafeInteger(retentionMs) && retentionMs >= 1 && retentionMs <= LONGEST_RETENTION_MS) return
  throw new ConfigurationError(
    'option_invalid',
    `${store}: retentionMs is ${String(retentionMs)}; give a whole number of milliseconds from 1 to ${LONGEST_RETENTION_MS}.`,
  )
}

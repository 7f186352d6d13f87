/** 100 years: later times are beyond what Postgres adds without complaint, and no whole numbers to some drivers of SQLite. */
export const LONGEST_RETENTION_MS = 100 * 365 * 24 * 3_600_000

/** 100 years: Postgres refuses to add longer times, and some drivers of SQLite do not pass them as whole numbers. */
export const LONGEST_RETENTION_MS = 100 * 365 * 24 * 3_600_000

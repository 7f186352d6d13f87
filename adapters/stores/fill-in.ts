import { BATCH, BATCH_OF_ACCOUNT, DEAD, DELAYED, LANES_A_LOOK, PARKED, READY, RUNNING, SUSPECT } from './inbox-lines.ts'

/** Values of `@NAME` in the statements of an inbox. */
export const STATES_AND_LIMITS = {
  READY,
  DELAYED,
  RUNNING,
  SUSPECT,
  DEAD,
  PARKED,
  BATCH,
  BATCH_OF_ACCOUNT,
  LANES_A_LOOK,
}

/**
 * Fills in what `@name` stands for in a statement, which is plain SQL otherwise. An underscore ends a name of small letters: `@table_bodies`.
 * What was filled in may contain anything, and is not looked at again.
 */
export function fillIn(sql: string, values: Readonly<Record<string, string | number>>): string {
  return sql.replace(/@([a-z]+|[A-Z_]+)/g, (marker, name: string) => String(values[name] ?? marker))
}

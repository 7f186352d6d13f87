import { asText } from './encode.ts'

/** A table, or a part of one, that the statements need. Names are in the form for statements. */
export interface Part {
  /** Expression of the text that names it. */
  readonly what: string
  /** Condition that it exists. */
  readonly exists: string
}

const oidOf = (name: string) => `to_regclass(${asText(name)})`

export function tablePart(name: string): Part {
  return { what: asText(`the table ${name}`), exists: `${oidOf(name)} IS NOT NULL` }
}

/** Renaming a table leaves their names to its indexes. */
export function indexPart(name: string, table: string): Part {
  const [of, valid] = [`FROM pg_index WHERE indexrelid = ${oidOf(name)}`, `indrelid = ${oidOf(table)} AND indisvalid`]
  return {
    what: `${asText(`the index ${name}`)} || coalesce((SELECT ' (an index of that name belongs to ' || indrelid::regclass || ')' ${of}), '')`,
    exists: `EXISTS (SELECT ${of} AND ${valid})`,
  }
}

export function triggerPart(name: string, table: string): Part {
  return {
    what: asText(`the trigger ${name} of ${table}`),
    exists: `EXISTS (SELECT FROM pg_trigger WHERE tgrelid = ${oidOf(table)} AND tgname = ${asText(name)})`,
  }
}

/** A statement that returns the names of missing parts, in one text; null if nothing is missing. */
export function makeMissing(parts: readonly Part[]): string {
  const rows = parts.map(({ what, exists }) => `(${what}, ${exists})`)
  return `SELECT string_agg(what, ', ') FROM (VALUES ${rows.join(',\n  ')}) AS part (what, is_there) WHERE NOT is_there`
}

/** A block that fails if a part is missing although it would have been created: another one has its name. */
export function makeCheck(missing: string): string {
  const body = `DECLARE missing text := (${missing});
BEGIN
  IF missing IS NOT NULL THEN
    RAISE EXCEPTION '% cannot be created: rename or drop what has the name, such as an index of a table that was renamed', missing;
  END IF;
END`
  return `DO ${asText(body)}`
}

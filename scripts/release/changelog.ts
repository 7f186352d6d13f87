const UNRELEASED = '## Unreleased\n'

/** The entries below "Unreleased", or undefined if there are none. */
function unreleasedIn(changes: string): string | undefined {
  const [, section] = changes.split(/^## Unreleased$/m)
  const entries = section?.split(/^## /m)[0]
  return entries !== undefined && /^- /m.test(entries) ? entries : undefined
}

/** Returns whether "Unreleased" has an entry: without one there is nothing to release. */
export function hasEntries(changes: string): boolean {
  return unreleasedIn(changes) !== undefined
}

/** Moves what stands below "Unreleased" to a version with its date, as YYYY-MM-DD. */
export function moveEntries(changes: string, version: string, date: string): string {
  return changes.replace(UNRELEASED, `${UNRELEASED}\n## ${version} - ${date}\n`)
}

/** Returns whether the changes name a version with a date. */
export function hasVersion(changes: string, version: string): boolean {
  return new RegExp(`^## ${version.replaceAll('.', '\\.')} - \\d{4}-\\d{2}-\\d{2}$`, 'm').test(changes)
}

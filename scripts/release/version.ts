const PLAIN = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/

/**
 * The version that a release gets: the current one raised by `patch`, `minor` or `major`, or the one that is named.
 *
 * @returns undefined if that is no version of three numbers, or is below the current one
 */
export function nextVersion(current: string, wanted: string): string | undefined {
  const [major, minor, patch] = numbersOf(current) ?? []
  if (major === undefined || minor === undefined || patch === undefined) return undefined
  if (wanted === 'major') return `${major + 1}.0.0`
  if (wanted === 'minor') return `${major}.${minor + 1}.0`
  if (wanted === 'patch') return `${major}.${minor}.${patch + 1}`
  const named = numbersOf(wanted)
  return named !== undefined && compare(named, [major, minor, patch]) >= 0 ? wanted : undefined
}

function numbersOf(version: string): readonly number[] | undefined {
  return PLAIN.exec(version)?.slice(1).map(Number)
}

function compare(left: readonly number[], right: readonly number[]): number {
  return left.map((number, index) => number - (right[index] ?? 0)).find((difference) => difference !== 0) ?? 0
}

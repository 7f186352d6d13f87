/** A file of the tarball, as `npm pack --json` lists it. */
export interface PackedFile {
  readonly path: string
  readonly size: number
}

/** The committed list that each release is compared with. */
export const CONTENTS = 'scripts/release/contents.txt'

/** A size may differ from the list by so many bytes, or by this share of it if that is more. */
const SLACK_BYTES = 2_048
const SLACK_SHARE = 0.2

/** The hash that the build puts behind the name of a shared part. It changes with the text. */
const HASH = /-(?=[\w-]*[A-Z\d])[\w-]{8}(?=(?:\.d\.ts|\.js)$)/

/** One line for each file, `bytes path`, sorted by path. Parts of the build whose names differ by their hash only are one line. */
export function formatContents(files: readonly PackedFile[]): string {
  return [...toSizes(files)].map(([path, size]) => `${String(size).padStart(7)} ${path}\n`).join('')
}

/** Returns the differences between the list and the files of a tarball, one line each; nothing if there are none. */
export function compareContents(list: string, files: readonly PackedFile[]): readonly string[] {
  const expected = new Map(
    [...list.matchAll(/^ *(\d+) (.+)$/gm)].map(([, size, path = '']) => [path, Number(size)] as const),
  )
  const found = toSizes(files)
  const differences: string[] = []
  for (const [path, size] of found) {
    const known = expected.get(path)
    if (known === undefined) differences.push(`${path} is new (${size} bytes)`)
    else if (Math.abs(size - known) > Math.max(SLACK_BYTES, known * SLACK_SHARE))
      differences.push(`${path} has ${size} bytes, ${known} in the list`)
  }
  for (const path of expected.keys()) if (!found.has(path)) differences.push(`${path} is missing`)
  return differences
}

function toSizes(files: readonly PackedFile[]): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>()
  for (const { path, size } of files) {
    const name = path.replace(HASH, '-*')
    sizes.set(name, (sizes.get(name) ?? 0) + size)
  }
  return new Map([...sizes].sort(([left], [right]) => (left < right ? -1 : 1)))
}

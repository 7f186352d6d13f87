/** Returns the code word in an answer of a receiver of this package; null if it has none. */
export function readCode(body: string): string | null {
  return /^\s*\{\s*"code"\s*:\s*"(\w{1,40})"/.exec(body)?.[1] ?? null
}

/** The code word in an answer, as receivers of this package write it. */
export function readCode(body: string): string | null {
  return /^\s*\{\s*"code"\s*:\s*"(\w{1,40})"/.exec(body)?.[1] ?? null
}

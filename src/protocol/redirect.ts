/** Returns true for the statuses that lead to another address: a 304, for example, does not. */
export function isRedirect(status: number | undefined): boolean {
  return [301, 302, 303, 307, 308].some((each) => each === status)
}

/** Returns true if the host is this machine, by its name or address. */
export function isLoopback({ hostname }: URL): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d{1,3}){3}$/.test(hostname)
  )
}

/** The URL as it may be shown: without a password in it, and without the values of its query. */
export function showTarget(target: URL): string {
  const shown = new URL(target)
  if (shown.username !== '') shown.username = 'xxx'
  if (shown.password !== '') shown.password = 'xxx'
  for (const name of new Set(shown.searchParams.keys())) shown.searchParams.set(name, 'xxx')
  return shown.href
}

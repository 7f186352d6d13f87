/** Returns the URL in a form to show: without its password, and without the values of its query. */
export function showTarget(target: URL): string {
  const shown = new URL(target)
  if (shown.username !== '') shown.username = 'xxx'
  if (shown.password !== '') shown.password = 'xxx'
  for (const name of new Set(shown.searchParams.keys())) shown.searchParams.set(name, 'xxx')
  return shown.href
}

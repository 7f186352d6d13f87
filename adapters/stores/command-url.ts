/** Options of a driver: whatever its types allow, or an app passes. */
export type Fields = Partial<Record<string, unknown>>

/** Returns a URL for a command that is logged; undefined if the host does not fit into one. */
export function toUrl(scheme: string, host: unknown, complete: (at: URL) => void): string | undefined {
  const name = String(host).includes(':') ? `[${host}]` : host
  if (!URL.canParse(`${scheme}://${name}`)) return undefined
  const at = new URL(`${scheme}://${name}`)
  complete(at)
  return at.toString()
}

export function withoutPassword(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const at = new URL(url)
  at.password = ''
  // The drivers also accept options there.
  for (const name of [...at.searchParams.keys()]) if (/pass/i.test(name)) at.searchParams.delete(name)
  return at.toString()
}

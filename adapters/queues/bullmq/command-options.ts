import type { Checked } from './options.ts'

/** Returns the options with which `postern inbox` opens this inbox, without a password. */
export function toCommandOptions({ backend, connection, queue, prefix }: Checked): readonly string[] {
  const fields: Fields = { ...connection }
  const url = backend === 'redis' ? toRedisUrl(fields) : toPostgresUrl(fields)
  return [
    ...[`--${backend}`, url ?? `${backend}://…`],
    ...(queue === 'postern' ? [] : ['--queue', queue]),
    ...(prefix === 'bull' ? [] : ['--prefix', prefix]),
    ...(fields.schema === undefined ? [] : ['--schema', String(fields.schema)]),
  ]
}

/** Options of a driver: whatever its types allow, or an app passes. */
type Fields = Partial<Record<string, unknown>>

/** Undefined if no URL leads there, such as for a socket or for sentinels: a guess would be another server. */
function toRedisUrl({ url, host = 'localhost', port, db, username, tls, path, sentinels }: Fields): string | undefined {
  if (typeof url === 'string') return withoutPassword(url)
  if (path !== undefined || sentinels !== undefined) return undefined
  return toUrl(tls ? 'rediss' : 'redis', host, (at) => {
    if (port !== undefined) at.port = String(port)
    if (db !== undefined) at.pathname = `/${db}`
    if (username !== undefined) at.username = String(username)
  })
}

function toPostgresUrl({
  connectionString,
  host = 'localhost',
  port,
  database,
  user,
  ssl,
}: Fields): string | undefined {
  if (typeof connectionString === 'string') return withoutPassword(connectionString)
  const isSocket = String(host).startsWith('/')
  return toUrl('postgres', isSocket ? 'localhost' : host, (at) => {
    if (port !== undefined) at.port = String(port)
    if (database !== undefined) at.pathname = `/${database}`
    if (user !== undefined) at.username = String(user)
    if (isSocket) at.searchParams.set('host', String(host))
    if (ssl) at.searchParams.set('sslmode', Object(ssl).rejectUnauthorized === false ? 'no-verify' : 'verify-full')
  })
}

function toUrl(scheme: string, host: unknown, complete: (at: URL) => void): string | undefined {
  const name = String(host).includes(':') ? `[${host}]` : host
  if (!URL.canParse(`${scheme}://${name}`)) return undefined
  const at = new URL(`${scheme}://${name}`)
  complete(at)
  return at.toString()
}

function withoutPassword(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const at = new URL(url)
  at.password = ''
  // Both drivers also accept options there.
  for (const name of [...at.searchParams.keys()]) if (/pass/i.test(name)) at.searchParams.delete(name)
  return at.toString()
}

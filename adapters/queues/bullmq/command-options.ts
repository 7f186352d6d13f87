import { type Fields, toUrl, withoutPassword } from '../../stores/command-url.ts'
import type { Checked } from './options.ts'

/** Returns the options with which `postern inbox` opens this inbox, without a password. */
export function toCommandOptions({ connection, queue, prefix }: Checked): readonly string[] {
  return [
    ...['--redis', toRedisUrl({ ...connection }) ?? 'redis://…'],
    ...(queue === 'postern' ? [] : ['--queue', queue]),
    ...(prefix === 'bull' ? [] : ['--prefix', prefix]),
  ]
}

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

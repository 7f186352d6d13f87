import { type Fields, toUrl, withoutPassword } from '../../command-url.ts'
import type { PgPool } from '../pool.ts'
import type { TableName } from '../statements.ts'
import { DEFAULT_TABLE } from './tables.ts'

/** Returns the options with which `postern inbox` opens this inbox, without a password. */
export function toCommandOptions({ options }: PgPool, { schema, table }: Required<TableName>): readonly string[] {
  return [
    ...['--postgres', toPostgresUrl({ ...options }) ?? 'postgres://…'],
    ...(schema === undefined ? [] : ['--schema', schema]),
    ...(table === undefined || table === DEFAULT_TABLE ? [] : ['--table', table]),
  ]
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

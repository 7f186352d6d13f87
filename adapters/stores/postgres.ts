export type { PostgresStoreOptions } from './postgres/options.ts'
export type { ClientOf, PgClient, PgPool, PgQuery, PgResult } from './postgres/pool.ts'
export { type PostgresStore, postgresSchema, postgresStore } from './postgres/postgres-store.ts'
export type { TableName } from './postgres/statements.ts'

import { PosternError } from '../../src/index.ts'
import { checkOut, type PgClient, type PgPool, runStatement } from './pool.ts'
import { type Statements, TABLE_VERSION } from './statements.ts'

/** Of the lock under which tables are made: two processes that did it at once would fail. It ends with the transaction. */
const LOCK = 7_066_398_211

/** Makes the table where it is not there, and refuses one of a later version of this package. */
export async function migrateTable(pool: PgPool, statements: Statements): Promise<void> {
  const { client, giveBack } = await checkOut(pool)
  let isSound = false
  try {
    await client.query({ text: `BEGIN; SELECT pg_advisory_xact_lock(${LOCK})` })
    const found = await findVersion(client, statements)
    if (found === undefined) await client.query({ text: statements.create })
    await client.query({ text: 'COMMIT' })
    isSound = true
    if (found !== undefined && found !== TABLE_VERSION) throw unknownVersion(found)
  } catch (cause) {
    throw cause instanceof PosternError
      ? cause
      : new PosternError('store_unavailable', 'postgresStore: migrate() could not make its table.', { cause })
  } finally {
    giveBack(isSound)
  }
}

/** Undefined where there is no table, or one without our comment. */
async function findVersion(client: PgClient, statements: Statements): Promise<number | undefined> {
  const [row] = await runStatement(client, statements.version, [])
  const version = /^postern (\d+)$/.exec(String(row?.[0] ?? ''))?.[1]
  return version === undefined ? undefined : Number(version)
}

function unknownVersion(version: number): PosternError {
  return new PosternError(
    'store_unavailable',
    `postgresStore: the table is of version ${version}, and this version of the package knows ${TABLE_VERSION}. Update the package in every process.`,
  )
}

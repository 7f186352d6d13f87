import type { Store } from 'postern'
import { postgresSchema } from 'postern/postgres'
import { describe, expect, it } from 'vitest'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { untilClaimed } from '../../../store/until-claimed.ts'
import { claimFor, LEASE_MS, newKey, Scene, take } from './scene.ts'

const claimOf = async (store: Store, key: string) => store.claim(key, LEASE_MS)

describe.skipIf(postgresProgram === undefined)('postgresStore under faults', () => {
  const scene = new Scene()

  it('claims, renews and completes while the app holds every connection of its pool', async () => {
    const { store, pool } = await scene.store({ max: 4 })
    const first = await claimFor(store)
    const held = await Promise.all([1, 2, 3, 4].map(() => pool.connect()))
    const key = newKey()
    const claim = await take(store, key)
    expect(await store.renew(first.key, first.token, LEASE_MS, [])).toBe(true)
    expect(await store.complete(key, claim.token)).toBe(true)
    for (const client of held) client.release()
  })

  it.each(['serializable', 'repeatable read'])(
    'answers each claim on a database whose transactions are %s by default',
    async (level) => {
      const options = { options: `-c default_transaction_isolation=${level.replace(' ', '\\ ')}` }
      const { store } = await scene.store(options)
      const { store: other } = await scene.store(options)
      const answers = await Promise.all(
        Array.from({ length: 300 }, async () => {
          const key = newKey()
          const claims = await Promise.all([store.claim(key, LEASE_MS), other.claim(key, LEASE_MS)])
          const at = claims.findIndex(({ state }) => state === 'claimed')
          const winner = claims[at]
          if (winner?.state !== 'claimed') return claims
          return (at === 0 ? store : other).complete(key, winner.token)
        }),
      )
      expect(answers.filter((answer) => answer !== true)).toEqual([])
    },
  )

  it('leaves no claim behind that its caller gave up on, no matter how late the server processes it', async () => {
    const { store, pool } = await scene.store()
    const { store: other } = await scene.store()
    const key = newKey()
    await take(store, newKey())
    const locking = await pool.connect()
    await locking.query('BEGIN; LOCK TABLE postern_claims IN ACCESS EXCLUSIVE MODE')
    await expect(claimOf(store, key)).rejects.toThrow()
    await locking.query('ROLLBACK')
    locking.release()
    await untilClaimed(other, () => key)
  })

  it('releases a claim whose answer was lost with its connection', async () => {
    const { store, proxy } = await scene.faulty()
    const { store: other } = await scene.store()
    const key = newKey()
    proxy.cutAt = { text: key, isForwarded: true }
    await expect(claimOf(store, key)).rejects.toThrow()
    // The release can overtake the claim, and is then repeated 3 s after the claim was sent.
    await untilClaimed(other, () => key)
  })

  it('does not follow a search_path that the app left on a connection', async () => {
    const { store, pool } = await scene.store({ max: 4 })
    await pool.query(`CREATE SCHEMA tenant; ${postgresSchema({ schema: 'tenant' })}`)
    const held = await Promise.all([1, 2, 3].map(() => pool.connect()))
    for (const client of held) await client.query('SET search_path TO tenant')
    for (const client of held) client.release()
    const key = newKey()
    await store.migrate()
    const { token } = await take(store, key)
    await store.renew(key, token, LEASE_MS, [])
    await store.complete(key, token)
    const count = async (table: string) => (await pool.query(`SELECT 1 FROM ${table} WHERE key = $1`, [key])).rowCount
    expect([await count('public.postern_claims'), await count('tenant.postern_claims')]).toEqual([1, 0])
  })
})

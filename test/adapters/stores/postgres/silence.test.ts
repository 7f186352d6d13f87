import type pg from 'pg'
import { type PostgresStore, postgresStore } from 'postern/postgres'
import { describe, expect, it } from 'vitest'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { untilClaimed } from '../../../store/until-claimed.ts'
import { claimFor, DRIVERS, LEASE_MS, newKey, Scene, sendingBy, take } from './scene.ts'

// Most of these tests wait for a limit, so that they run concurrently.
describe.skipIf(postgresProgram === undefined).concurrent.each(DRIVERS)(
  'postgresStore on connections that fall silent, with pg %s',
  (_version, driver) => {
    const scene = new Scene(driver)

    it('renews and completes on another connection if the kept one fell silent', async () => {
      const { store, proxy } = await scene.faulty()
      const { key, token } = await claimFor(store)
      proxy.muteAt = token
      await expect(renew(store, { key, token })).rejects.toThrow()
      expect(await renew(store, { key, token })).toBe(true)
      expect(await store.complete(key, token)).toBe(true)
    })

    it('claims again soon after all connections fell silent, including idle ones that never end', async () => {
      const { store, proxy, pool } = await scene.faulty({ max: 10, idleTimeoutMillis: 0 })
      const claim = await claimFor(store)
      const clients = await Promise.all(Array.from({ length: 9 }, () => pool.connect()))
      for (const client of clients) client.release()
      proxy.mute()
      await untilClaimed(store, newKey)
      await Promise.all([1, 2, 3].map(() => take(store, newKey())))
      expect(await renew(store, claim).catch(() => renew(store, claim))).toBe(true)
    })

    it('does not let one statement without an answer delay the claims of all others', async () => {
      const { store, proxy } = await scene.faulty()
      const order: string[] = []
      // On a slow machine a claim may take as long as the one without an answer is waited for.
      while (order.at(-2) !== 'claimed') {
        const key = newKey()
        await untilClaimed(store, newKey)
        proxy.muteAt = key
        const lost = Promise.resolve(store.claim(key, LEASE_MS)).catch(() => order.push('refused'))
        while (proxy.muteAt !== undefined) await new Promise((resolve) => setTimeout(resolve, 5))
        await untilClaimed(store, newKey)
        order.push('claimed')
        await lost
      }
    })

    it('looks its table up again', async () => {
      const { store, proxy } = await scene.faulty()
      proxy.muteAt = 'search_path TO DEFAULT'
      await Promise.all(Array.from({ length: 5 }, () => untilClaimed(store, newKey)))
    })

    it('gives up a migration that has no answer', async () => {
      const { pool, proxy } = await scene.faulty()
      proxy.muteAt = 'obj_description'
      const store = postgresStore({ pool, table: 'silent' })
      await expect(store.migrate()).rejects.toMatchObject({ code: 'store_unavailable' })
      await store.migrate()
    })

    it('opens a transaction on a connection that answers', async () => {
      const { store, proxy, pool } = await scene.faulty({ idleTimeoutMillis: 0 })
      const claim = await claimFor(store)
      const clients = await Promise.all(Array.from({ length: 9 }, () => pool.connect()))
      for (const client of clients) client.release()
      proxy.mute()
      const run = () => store.transaction(claim, (tx) => tx.query('SELECT 1'))
      await expect(run()).rejects.toThrow()
      await run()
    })

    it('ends a transaction whose ROLLBACK has no answer, and closes its connection', async () => {
      const { store, proxy, pool } = await scene.faulty()
      const claim = await claimFor(store)
      let used: unknown
      const closed = new Promise<void>((resolve) => {
        pool.on('remove', (client) => {
          if (client === used) resolve()
        })
      })
      const run = store.transaction(claim, (tx) => {
        used = Object.getPrototypeOf(tx) // the client itself
        proxy.mute()
        throw new Error('of work')
      })
      await expect(run).rejects.toThrow('of work')
      await closed
    })

    it('sends nothing after a COMMIT without an answer, and closes its connection', async () => {
      const sent: string[] = []
      const watch: Parameters<typeof sendingBy>[0] = (send, ...given) => {
        sent.push(String(Object(given[0]).text))
        return send(...given)
      }
      const { store, proxy } = await scene.faulty(sendingBy(watch, driver))
      const claim = await claimFor(store)
      proxy.muteAt = 'COMMIT\0' // the statement that ends it: BEGIN names a level with COMMIT in it
      await expect(store.transaction(claim, (tx) => tx.query('SELECT 1'))).rejects.toThrow()
      expect(sent.at(-1)).toBe('COMMIT')
    })
  },
)

const renew = async (store: PostgresStore<pg.PoolClient>, claim: { readonly key: string; readonly token: string }) =>
  store.renew(claim.key, claim.token, LEASE_MS, [])

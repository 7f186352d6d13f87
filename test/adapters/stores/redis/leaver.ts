import { once } from 'node:events'
import type { Redis } from 'ioredis'
import { redisStore } from 'postern/redis'
import { untilClaimed } from '../../../store/until-claimed.ts'
import { CLIENTS } from './clients.ts'

// A process that does nothing more once its client no longer keeps the process alive. By then its store uses a duplicate.

const { CLIENT = '', PORT = '' } = process.env
const made = await CLIENTS[CLIENT]?.(Number(PORT))
if (made === undefined) throw new Error(`no client is called ${CLIENT}`)
const store = redisStore({ client: made.client })
await store.claim('a', 15_000)
const told = once(process, 'message')
process.send?.('claimed')
await told
await untilClaimed(store, () => 'b')
const client = made.client as unknown as { unref?(): void } & Partial<Redis> // of node-redis or ioredis
if (client.unref === undefined) client.stream?.unref()
else client.unref()
process.send?.('done')
process.disconnect()

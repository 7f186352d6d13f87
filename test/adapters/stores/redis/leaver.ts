import { once } from 'node:events'
import type { Redis } from 'ioredis'
import { redisStore } from 'postern/redis'
import { untilClaimed } from '../../../store/until-claimed.ts'
import { connect } from './clients.ts'

// A process that does nothing more once its client no longer keeps the process alive. By then its store uses a duplicate.

const { CLIENT = '', PORT = '' } = process.env
const made = await connect(CLIENT, Number(PORT))
const store = redisStore({ client: made.client })
await untilClaimed(store, () => 'a')
const told = once(process, 'message')
process.send?.('claimed')
await told
await untilClaimed(store, () => 'b')
const client = made.client as unknown as { unref?(): void } & Partial<Redis> // of node-redis or ioredis
if (client.unref === undefined) client.stream?.unref()
else client.unref()
process.send?.('done')
process.disconnect()

import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver } from 'postern'
import { nodeHandler } from 'postern/node'
import { redisStore } from 'postern/redis'
import { createClient } from 'redis'

/** A message that a handler begins, for the example to count. A real app does not need it. */
export interface Started {
  readonly eventId: string
  readonly pid: number
}

/** One of the processes. All listen on one port, and the operating system chooses which of them gets a delivery. */
export async function runWorker(redisUrl: string, port: number): Promise<void> {
  const client = createClient({ url: redisUrl })
  client.on('error', (error: Error) => console.error(`redis: ${error.message}`))
  await client.connect()

  const receiver = createReceiver({
    secret: process.env.WEBHOOK_SECRET,
    store: redisStore({ client }),
    leaseMs: 2_000, // short, to keep the example short; the default is 15 s
  }).on('contact.created', async (event) => {
    const started: Started = { eventId: event.id, pid: process.pid }
    process.send?.(started)
    await sleep(event.data.record.firstName === 'Slow' ? 1_000 : 20)
  })

  const server = createServer(nodeHandler(receiver, { path: '/webhooks' })).listen(port, '127.0.0.1')
  process.once('SIGTERM', async () => {
    server.close()
    await receiver.close()
    client.destroy()
    process.disconnect()
  })
}

/** The module that the accepting processes and the workers share. */
import { createReceiver, DeadLetter } from 'postern'
import { bullmqInbox } from 'postern/bullmq'
import { contact } from 'postern/models'
import { redisStore } from 'postern/redis'
import { createClient } from 'redis'

const url = process.env.REDIS_URL ?? 'redis://localhost:6379'
const client = createClient({ url })
client.on('error', (error) => console.error('Redis:', error.message))
await client.connect()

const inbox = bullmqInbox({ connection: url })

export const receiver = createReceiver({
  secret: process.env.WEBHOOK_SECRET,
  models: { contact },
  store: redisStore({ client }),
  inbox,
})

receiver.on('contact.created', (event) => {
  const { _id, email } = event.data.record
  if (email === undefined) throw new DeadLetter('a contact without an address')
  process.send?.({ pid: process.pid, id: _id })
})

export async function close(): Promise<void> {
  await receiver.close() // waits for running handlers, and leaves the rest for other processes
  await inbox.close()
  await client.close()
}

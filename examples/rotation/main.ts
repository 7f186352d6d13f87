/**
 * Rotates a secret under load: the webhook, and so its secret, is replaced while records change, and no event is missed or handled twice.
 * Everything runs here, the service too; exits 0 if every step succeeded.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver } from 'postern'
import { createClient, ensureWebhook, rotateWebhook, type SecretKeeper } from 'postern/client'
import { startEmulator } from 'postern/emulator'
import { nodeHandler } from 'postern/node'

const secrets = new Map<string, string>() // stands for your secret manager
const keeper: SecretKeeper = {
  hasSecret: (id) => secrets.has(id),
  saveSecret: (secret, { id }) => void secrets.set(id, secret),
}

const handled: string[] = []
let copies = 0
const receiver = createReceiver({
  secret: () => [...secrets.values()],
  onOutcome: ({ outcome }) => {
    if (outcome === 'duplicate') copies++
  },
})
receiver.on('contact.created', ({ data }) => void handled.push(data.record._id))
const server = createServer(nodeHandler(receiver)).listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo // listening on a port
const url = `http://127.0.0.1:${port}/webhooks`

const crm = await startEmulator()
const client = createClient({ baseUrl: crm.url, email: 'ada@acme.test', password: 'password' })
const { webhook: old } = await ensureWebhook(client, { url, events: ['contact.created'], ...keeper })

const created: string[] = []
const load = setInterval(() => created.push(crm.records.create('contact')._id), 5)
const rotation = await rotateWebhook(client, {
  webhookId: old.id,
  ...keeper,
  overlapMs: 500,
  pollMs: 100,
  onProgress: ({ pending }) =>
    console.log(`${secrets.size} webhooks deliver, ${pending} deliveries only by the old one`),
})
clearInterval(load)
await crm.deliveries.whenIdle()
secrets.delete(old.id) // last: until now, late duplicates of the old webhook still came

const distinct = new Set(handled)
console.log(`rotation ${rotation.state}; one event id in both webhooks: ${rotation.sharesEventIds}`)
console.log(
  `${created.length} events, ${distinct.size} handled, ${handled.length - distinct.size} twice, ${copies} copies answered`,
)

await crm.close()
await receiver.close()
server.close()
process.exitCode =
  rotation.state === 'finished' && distinct.size === created.length && handled.length === distinct.size ? 0 : 1

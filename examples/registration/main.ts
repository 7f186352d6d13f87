/**
 * Registers a webhook for the first time: creates it, saves its secret, which is shown once, in a file, and only then activates it. The
 * process "dies" before it saves the secret, and the next run repairs that. Everything runs here, the service too; exits 0 if every step
 * succeeded.
 */
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReceiver } from 'postern'
import { createClient, ensureWebhook } from 'postern/client'
import { startEmulator } from 'postern/emulator'
import { nodeHandler } from 'postern/node'

const file = join(mkdtempSync(join(tmpdir(), 'postern-')), 'secrets.json')
const load = (): Record<string, string> => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {})

/** A rename is atomic. */
function save(secrets: Record<string, string>): void {
  writeFileSync(`${file}.new`, JSON.stringify(secrets), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

const receiver = createReceiver({ secret: () => Object.values(load()) })
receiver.on('contact.*', ({ type, data }) => console.log(`handled: ${type} ${data.record._id}`))
const server = createServer(nodeHandler(receiver)).listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo // listening on a port

const crm = await startEmulator()
const client = createClient({ baseUrl: crm.url, email: 'ada@acme.test', password: 'password' })

async function register(saveSecret: (secret: string, id: string) => void | Promise<void>): Promise<void> {
  const { webhook, isNew, deleted } = await ensureWebhook(client, {
    url: `http://127.0.0.1:${port}/webhooks`,
    events: ['contact.created', 'contact.updated', 'contact.deleted'],
    hasSecret: (id) => id in load(),
    saveSecret: (secret, { id }) => saveSecret(secret, id),
  })
  const told = deleted.length > 0 ? `, ${deleted.length} without a saved secret deleted` : ''
  console.log(`webhook ${webhook.active === true ? 'active' : 'paused'}, ${isNew ? 'new' : 'as it was'}${told}`)
}

// A process that dies here leaves a webhook whose secret is lost. It is inactive, and so it does no harm.
await new Promise<void>((resolve) => {
  const die = () => {
    resolve()
    return new Promise<void>(() => {})
  }
  void register(die)
})
await register((secret, id) => save({ ...load(), [id]: secret }))
await register(() => {
  throw new Error('there is nothing to save')
})

crm.records.create('contact', { firstName: 'Zoë' })
await crm.deliveries.whenIdle()
const delivered = crm.deliveries.list().filter(({ status }) => status === 'success').length
console.log(`${delivered} delivered, ${crm.webhooks.list().length} webhook`)

await crm.close()
await receiver.close()
server.close()
process.exitCode = delivered === 1 ? 0 : 1

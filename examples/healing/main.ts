/**
 * Heals after an outage: an app is away for longer than the service's five attempts, and its failed deliveries are replayed. The replay is
 * interrupted halfway, and resumed by its journal. Everything runs here, the service too; exits 0 if every step succeeded.
 */
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReceiver } from 'postern'
import { createClient, type ReplayJournal, replayFailed } from 'postern/client'
import { startEmulator } from 'postern/emulator'
import { nodeHandler } from 'postern/node'

const EVENTS = 40
const SECRET = 'whsec_of_the_example'

let isDown = true
const handled: string[] = []
const receiver = createReceiver({ secret: SECRET })
receiver.on('contact.created', ({ data }) => void handled.push(data.record._id))
const handle = nodeHandler(receiver)
const server = createServer((request, response) => {
  if (isDown) response.writeHead(503).end()
  else handle(request, response)
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo // listening on a port

// The clock only moves when the example advances it.
const crm = await startEmulator({ clock: 'manual' })
const url = `http://127.0.0.1:${port}/webhooks`
const { id: webhookId } = crm.webhooks.create({ url, events: ['contact.created'] }, { secret: SECRET })
for (let n = 0; n < EVENTS; n++) crm.records.create('contact')
await crm.clock.advance('3h')
isDown = false

const client = createClient({ baseUrl: crm.url, email: 'ada@acme.test', password: 'password' })
const found = await replayFailed(client, { webhookId, dryRun: true })
console.log(`${found.events.length} events failed while the app was away`)

const file = join(mkdtempSync(join(tmpdir(), 'postern-')), 'replay.journal')
const journal: ReplayJournal = {
  read: () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []),
  append: (line) => appendFile(file, `${line}\n`),
}

const interruption = new AbortController()
const onProgress = ({ retried }: { retried: number }) => {
  if (retried >= EVENTS / 2) interruption.abort(new Error('interrupted'))
}
await replayFailed(client, { webhookId, journal, onProgress, signal: interruption.signal }).catch((error: Error) =>
  console.log(`${error.message}; the journal has what was taken on`),
)
const { events } = await replayFailed(client, { webhookId, journal, pollMs: 50 })
const failed = events.filter(({ outcome }) => outcome !== 'succeeded').length
await crm.deliveries.whenIdle()
console.log(
  `resumed; ${new Set(handled).size} of ${EVENTS} handled, ${handled.length - new Set(handled).size} twice, ${failed} failed`,
)

await crm.close()
await receiver.close()
server.close()
process.exitCode = failed === 0 && handled.length === EVENTS && new Set(handled).size === EVENTS ? 0 : 1

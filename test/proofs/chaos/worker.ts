/** One receiver app of a chaos run: a real process that may be killed at any moment. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver, DeadLetter, RetryLater, type Store } from 'postern'
import { nodeHandler } from 'postern/node'
import { openStore } from './engines.ts'
import { JournalWriter } from './journal.ts'
import type { FromWorker, WorkerSettings } from './messages.ts'
import { SECRET } from './sender.ts'

const settings = JSON.parse(process.argv[2] ?? '') as WorkerSettings // the pool writes it
const journal = new JournalWriter(settings.journalPath)
const engine = await openStore(settings.engine)

/** Records when the store has the result of an event, which is later than the end of its handlers. */
function withJournal(store: Store): Store {
  const { complete, release } = store
  const settled = async (key: string, isTaken: boolean | Promise<boolean>) => {
    const answer = await isTaken
    journal.write('settled', key.slice(key.lastIndexOf(':') + 1))
    return answer
  }
  // Patches the store itself: its class may have private fields, and may have transactions.
  return Object.assign(store, {
    complete: (key: string, token: string) => settled(key, complete.call(store, key, token)),
    release: (key: string, token: string, marks: readonly string[]) =>
      settled(key, release.call(store, key, token, marks)),
  })
}

const receiver = createReceiver({
  secret: SECRET,
  store: withJournal(engine.store),
  ...(engine.inbox && { inbox: engine.inbox }),
  ...(settings.engine.name.endsWith('-lanes') && { lane: 'record' }),
  leaseMs: settings.leaseMs,
  logger: { debug() {}, info() {}, warn() {}, error() {} },
})

receiver.on('contact.created', { name: 'work' }, async (event, context) => {
  journal.write('begin', event.id, 'work')
  const luck = Math.random()
  if (luck < 0.5) await sleep(luck < 0.05 ? 50 : 2)
  if (engine.inbox !== undefined && luck < 0.001) await sleep(5_000)
  if (Math.random() < settings.failureRate / 2) {
    journal.write('failure', event.id, 'work')
    throw new Error('bad luck')
  }
  const wish = engine.inbox && wishOf(event.data.record)
  if (wish !== undefined) {
    journal.write('failure', event.id, 'work')
    throw wish
  }
  await engine.writeEffect?.(event.id, context)
  journal.write('end', event.id, 'work')
})

receiver.on('contact.created', { name: 'audit' }, async (event) => {
  journal.write('begin', event.id, 'audit')
  await sleep(1)
  const isUnlucky = Math.random() < settings.failureRate / 2
  journal.write(isUnlucky ? 'failure' : 'end', event.id, 'audit')
  if (isUnlucky) throw undefined
})

/** Returns the error by which a handler steers the inbox. */
function wishOf({ isPoisoned }: Readonly<Record<string, unknown>>): Error | undefined {
  if (isPoisoned === true) return new DeadLetter('poisoned')
  return Math.random() < 0.02 ? new RetryLater(Math.random() * 1_000) : undefined
}

const server = createServer(nodeHandler(receiver))
if (engine.inbox !== undefined && settings.role !== 'accept') receiver.work({ delay: (attempt) => attempt * 500 })
if (engine.inbox !== undefined && settings.role === 'work') tell({ port: 0 })
else
  server.listen(0, '127.0.0.1', () => {
    tell({ port: (server.address() as AddressInfo).port }) // it listens on TCP
  })
const memory = setInterval(() => tell({ residentBytes: process.memoryUsage.rss() }), 1_000)

process.once('message', async () => {
  clearInterval(memory)
  server.close()
  server.closeIdleConnections()
  await receiver.close()
  await engine.close()
  journal.close()
  process.disconnect()
})
process.once('disconnect', () => process.exit())

function tell(message: FromWorker): void {
  process.send?.(message)
}

/** A process with one host, named by an argument. It exits as soon as `receiver.close()` resolves. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver } from 'postern'
import { silentLogger } from 'postern/testing'
import { hosts } from './hosts.ts'

const receiver = createReceiver({
  secret: async () => {
    if (process.argv[3] === 'slow secrets') {
      process.send?.('begun')
      await sleep(1_000)
    }
    return process.env.WEBHOOK_SECRET
  },
  logger: silentLogger,
}).on('*', async () => {
  process.send?.('begun')
  if (process.argv[3] === 'slow handler') await sleep(1_000)
})
const running = await hosts.find(({ name }) => name === process.argv[2])?.start(receiver)

process.once('message', async () => {
  const closing = receiver.close()
  process.send?.('begun')
  await closing
  process.exit(0)
})
process.send?.({ port: running?.port })

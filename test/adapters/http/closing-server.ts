/**
 * A process with one host, named by an argument. It is told to exit as soon as `receiver.close()` resolves, or to stop its server then or beside
 * it, and ends by itself.
 */
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
/** Answers a while after the receiver has, as below middleware. */
const handle: typeof receiver.handle = async (request) => {
  const reply = await receiver.handle(request)
  await sleep(300)
  return reply
}
const running = await hosts.find(({ name }) => name === process.argv[2])?.start({ handle })

process.once('message', async (told) => {
  const stopping = told === 'stop the server beside close()' ? running?.stop() : undefined
  const closing = receiver.close()
  process.send?.('begun')
  await closing
  if (told === 'exit after close()') process.exit(0)
  process.disconnect()
  await (stopping ?? running?.stop())
})
process.send?.({ port: running?.port })

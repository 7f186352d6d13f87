import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { MemorySocket } from '../../src/testing/memory-socket.ts'

it('holds the writer back until the other end reads', async () => {
  const [client, server] = MemorySocket.createPair()
  let written = 0
  for (let count = 0; count < 10; count++) client.write(Buffer.alloc(100_000), () => written++)
  for (let turn = 0; turn < 10; turn++) await setImmediate()
  expect([written, client.writableNeedDrain]).toEqual([0, true])
  let read = 0
  server.on('data', (part: Buffer) => {
    read += part.length
  })
  client.end()
  await once(server, 'end')
  expect([written, read]).toEqual([10, 1_000_000])
})

it('releases a writer whose other end is destroyed', async () => {
  const [client, server] = MemorySocket.createPair()
  client.on('error', () => {})
  const released = new Promise((resolve) => client.write(Buffer.alloc(1_000_000), resolve))
  server.destroy()
  await released
  await once(client, 'close')
})

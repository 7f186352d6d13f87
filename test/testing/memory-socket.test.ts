import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { MemorySocket } from '../../tools/testing/memory-socket.ts'

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

it('takes what is written to an end that is destroyed, until the writer knows', async () => {
  const [client, server] = MemorySocket.createPair()
  const closed = once(client, 'close').then(() => 'closed before')
  server.destroy()
  const released = new Promise((resolve) => client.write(Buffer.alloc(1_000_000), () => resolve('released')))
  expect(await Promise.race([released, closed])).toBe('released')
  expect(await closed).toBe('closed before')
})

it('lets the other end read what was written before a connection was cut', async () => {
  const [client, server] = MemorySocket.createPair()
  let read = ''
  server.on('data', (part: Buffer) => {
    read += part
  })
  client.write('written')
  client.destroy()
  await once(server, 'close')
  expect(read).toBe('written')
})

it('cuts the connection if an end that has sent everything is destroyed before the other has answered', async () => {
  const [client, server] = MemorySocket.createPair()
  client.end('sent')
  await once(client, 'finish')
  client.destroy()
  for (let turn = 0; turn < 3; turn++) await setImmediate()
  expect(server.destroyed).toBe(true)
})

it('keeps what an end has not read yet when the other closes after both have ended', async () => {
  const [client, server] = MemorySocket.createPair()
  server.end()
  client.resume().end('sent')
  await once(client, 'close')
  for (let turn = 0; turn < 3; turn++) await setImmediate()
  expect(String(await server.toArray())).toBe('sent')
})

it('answers calls that apps make to a socket', () => {
  const [, server] = MemorySocket.createPair()
  expect(server.setTimeout().setNoDelay().setKeepAlive().ref().unref().address()).toEqual({})
})

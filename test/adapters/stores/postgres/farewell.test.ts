import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import pg from 'pg'
import { postgresStore } from 'postern/postgres'
import { expect, it } from 'vitest'

/** Builds one message of Postgres' protocol: its letter, its length, and its content. */
function message(letter: string, content: string): Buffer {
  const bytes = Buffer.alloc(5 + content.length)
  bytes.write(letter, 'latin1')
  bytes.writeInt32BE(4 + content.length, 1)
  bytes.write(content, 5, 'latin1')
  return bytes
}

const WELCOME = Buffer.concat([message('R', '\0\0\0\0'), message('Z', 'I')])
const FAREWELL = message('E', 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')

// A stopping server does so only by chance, and a client gets both in one packet only by chance.
it('a server that accepts a connection and ends it in one packet does not end the process', async () => {
  const server = createServer((socket) => {
    socket.once('data', () => socket.end(Buffer.concat([WELCOME, FAREWELL])))
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'nobody', database: 'none' })
  try {
    await expect(postgresStore({ pool }).claim('key', 15_000)).rejects.toThrow()
  } finally {
    await pool.end()
    server.close()
  }
})

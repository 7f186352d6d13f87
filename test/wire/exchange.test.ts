import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { exchange } from '../../src/wire/exchange.ts'

/** Listens, and answers the first bytes of each connection with a text. */
async function answerWith(text: string): Promise<URL> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.write(text))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
  })
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('it listens nowhere')
  return new URL(`http://127.0.0.1:${address.port}/`)
}

describe('exchange', () => {
  it('rejects when a server switches to another protocol', async () => {
    const url = await answerWith('HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n')
    const answer = exchange(url, { headers: [], body: Buffer.from('{}') }, { signal: AbortSignal.timeout(5_000) })
    await expect(answer).rejects.toThrow('the connection ended without an answer')
  })

  it('cuts an answer off after so many bytes, even if the rest never arrives', async () => {
    const url = await answerWith(`HTTP/1.1 404 Gone Away\r\nContent-Length: 1000\r\n\r\n${'x'.repeat(500)}`)
    const options = { signal: AbortSignal.timeout(5_000), maxBodyBytes: 400 }
    const started = performance.now()
    const { status, reason, body } = await exchange(url, { headers: [], body: Buffer.from('{}') }, options)
    expect([status, reason, body.length]).toEqual([404, 'Gone Away', 500])
    expect(performance.now() - started).toBeLessThan(4_000)
  })
})

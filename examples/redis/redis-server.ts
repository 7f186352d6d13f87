import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A Redis for the example alone, gone with it. Rejects where redis-server is not installed. */
export async function startRedis(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-example-'))
  const port = await findFreePort()
  const address = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder]
  const child = spawn('redis-server', [...address, '--appendonly', 'yes'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(child, 'close').catch(() => {})
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)))
    child.stdout.on('data', (text) => String(text).includes('Ready to accept connections') && resolve())
  }).catch((error) => {
    rmSync(folder, { recursive: true })
    throw error
  })
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      child.kill()
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  return address.port
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface ExampleRedis {
  readonly url: string
  stop(): Promise<void>
}

/** Returns the Redis of REDIS_URL, or starts one for the example alone; prints a message if neither is possible. */
export async function findRedis(): Promise<ExampleRedis | undefined> {
  const url = process.env.REDIS_URL
  if (url !== undefined) return { url, stop: async () => {} }
  try {
    return await startRedis()
  } catch (error) {
    console.error(`There is no Redis for this example (${(error as Error).message}).`) // nothing else is thrown
    console.error('Install one (apt-get install redis-server), or set REDIS_URL to one that may be written to.')
    return undefined
  }
}

async function startRedis(): Promise<ExampleRedis> {
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

import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hosts } from './hosts.ts'
import { deliver, expectAnswer, expectHandled, SECRET, sample, withoutLength } from './scene.ts'
import { chunked, head, Wire } from './wire.ts'

/** A process that runs every host, as an app would, without any part of the test. */
interface Server {
  readonly process: ChildProcess
  readonly ports: readonly number[]
  /** Its error output. */
  readonly stderr: () => string
  ask(message: string): Promise<{ readonly peakRss: number }>
}

async function startServer(...flags: readonly string[]): Promise<Server> {
  const child = fork(fileURLToPath(new URL('server.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx', '--unhandled-rejections=strict', '--expose-gc', ...flags],
    env: { ...process.env, WEBHOOK_SECRET: SECRET },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let stderr = ''
  child.stderr?.on('data', (part) => {
    stderr += part
  })
  const [{ ports }] = await once(child, 'message')
  const ask = async (message: string) => {
    const answered = once(child, 'message')
    child.send(message)
    const [answer] = await answered
    return answer
  }
  return { process: child, ports, stderr: () => stderr, ask }
}

describe('a process', () => {
  let server: Server
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => void server.process.kill('SIGKILL'))

  const onEach = (attack: (port: number) => Promise<unknown>) => Promise.all(server.ports.map(attack))

  const cutAt = async (port: number, request: Uint8Array, at: number) => {
    const wire = await Wire.open(port)
    await wire.send(request.subarray(0, at))
    await sleep(5)
    wire.abort()
  }

  it('uses at most 64 MB more for 100 MB in chunks', async () => {
    for (const [at, port] of server.ports.entries()) {
      await deliver({ port }, sample({ tamper: 'flip-bit' })) // loads everything
      const before = await server.ask('reset')
      const { wire, sentMb } = await sendChunks(port, 100)
      expectAnswer(await wire.answer(), 413, 'body_too_large')
      wire.abort()
      const after = await server.ask('look')
      const growthMb = (after.peakRss - before.peakRss) / 1_048_576
      if (process.env.LONG)
        console.log(`peak growth on ${hosts[at]?.name}: ${growthMb.toFixed(1)} MB, for ${sentMb} MB`)
      expect(growthMb).toBeLessThan(64)
    }
  })

  it.each<[string, (port: number) => Promise<unknown>]>([
    [
      '1,000 bytes of noise',
      async (port) => {
        const wire = await Wire.open(port)
        await wire.send(randomBytes(1_000))
        await wire.closed()
      },
    ],
    [
      'a head of 100 KB',
      async (port) => {
        const wire = await Wire.open(port)
        await wire.send(head({ 'x-long': 'x'.repeat(100_000) }))
        await wire.closed()
      },
    ],
    [
      'senders that leave anywhere',
      async (port) => {
        const request = Buffer.concat([Buffer.from(head(sample().headers)), sample().bytes])
        await Promise.all(Array.from({ length: 60 }, (_, n) => cutAt(port, request, 1 + n * 7)))
      },
    ],
    [
      'refused senders that leave before, while and after they are answered',
      async (port) => {
        const { headers } = sample({ tamper: 'no-header' })
        const request = Buffer.concat([
          Buffer.from(head({ ...headers, 'content-length': 900_000 })),
          Buffer.alloc(900_000),
        ])
        await Promise.all(Array.from({ length: 30 }, (_, n) => cutAt(port, request, 120 + n * 30_000)))
      },
    ],
    [
      '200 connections that say nothing more',
      async (port) => {
        const slow = await Promise.all(Array.from({ length: 200 }, () => Wire.open(port)))
        for (const wire of slow) await wire.send(`${head(sample().headers)}{`)
        await expectHandled({ port })
        for (const wire of slow) wire.abort()
      },
    ],
    ['a sender that goes on for three seconds after it was refused', (port) => flood(port, 3_000)],
  ])('survives %s', async (_, attack) => {
    await onEach(attack)
    await onEach(async (port) => {
      await expectHandled({ port })
    })
    expect(server.process.exitCode).toBeNull()
    expect(server.stderr()).toBe('')
  })
})

describe('a mebibyte in chunks of one byte on four connections, with a well-formed wrong signature', () => {
  let server: Server
  beforeAll(async () => {
    server = await startServer('--max-old-space-size=256')
  })
  afterAll(() => void server.process.kill('SIGKILL'))

  it.each(hosts.map(({ name, isFetch }, at) => [name, at, isFetch === true] as const))(
    'is refused by %s, whose process survives and handles others meanwhile',
    async (_name, at, isFetch) => {
      const port = server.ports[at] ?? 0
      const { headers } = sample({ tamper: 'other-secret' })
      const request = Buffer.concat([
        Buffer.from(head(withoutLength(headers))),
        chunked(Buffer.alloc(1_048_576, 0x20), 1),
      ])
      const attack = Promise.all(Array.from({ length: 4 }, () => sendFragments(port, request)))
      await expectHandled({ port })
      const answers = await attack
      expect([server.process.exitCode, server.process.signalCode]).toEqual([null, null])
      const statuses = answers.map((answer) => answer.slice(9, 12))
      // A bridge to Fetch may join fragments before the adapter sees them: then the body is read whole, and its signature is wrong.
      for (const status of statuses) expect(isFetch ? ['413', '401', '408'] : ['413']).toContain(status)
      await expectHandled({ port })
    },
  )
})

/** Sends so many bytes as fast as they are read: two seconds after its answer a host stops reading. */
async function sendChunks(port: number, mb: number): Promise<{ readonly wire: Wire; readonly sentMb: number }> {
  const part = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(1_048_576), Buffer.from('\r\n')])
  const wire = await Wire.open(port)
  await wire.send(head(withoutLength(sample().headers)))
  const endsAt = performance.now() + 3_000
  let sentMb = 0
  for (; sentMb < mb && wire.isOpen && performance.now() < endsAt; sentMb++)
    await Promise.race([wire.flushed(part), sleep(1_000)])
  return { wire, sentMb }
}

/** Sends a body without an end for so long, or until the connection is cut. */
async function flood(port: number, ms: number): Promise<void> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  const part = Buffer.concat([Buffer.from('4000\r\n'), Buffer.alloc(16_384), Buffer.from('\r\n')])
  socket.write(head(withoutLength(sample().headers)))
  const endsAt = performance.now() + ms
  while (performance.now() < endsAt && !socket.destroyed) {
    if (!socket.write(part))
      await Promise.race([once(socket, 'drain'), once(socket, 'close'), sleep(1_000)]).catch(() => {})
    await sleep(1)
  }
  socket.destroy()
}

/** Writes a mebibyte in chunks of one byte as fast as the server reads, and returns the answer, if there is one. */
async function sendFragments(port: number, request: Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket
    .on('error', () => {})
    .on('data', (part) => {
      answer += part
    })
  socket.write(request)
  await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => {})
  socket.destroy()
  return answer
}

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { bundle } from '../../support/bundle.ts'
import { startWatch } from '../../support/watch.ts'
import { expectAnswer, SECRET, sample } from './scene.ts'
import { head, Wire } from './wire.ts'

const SERVER = fileURLToPath(new URL('shutdown-server.ts', import.meta.url))

const SLOW = "Hono's Node server, below slow middleware,"

it.each(['node:http', 'Express 5', 'Fastify 5', "Hono's Node server", SLOW])(
  'SIGTERM on %s answers the deliveries under way, and ends the process though connections are kept',
  async (host) => {
    const child = fork(await bundle(SERVER), [host], { env: { ...process.env, WEBHOOK_SECRET: SECRET } })
    onTestFinished(() => void child.kill('SIGKILL'))
    const messages: unknown[] = []
    child.on('message', (message) => messages.push(message))
    const [{ port }] = await once(child, 'message')
    const send = async (wire: Wire) => {
      const { headers, bytes, id } = sample()
      await wire.send(head(headers), bytes)
      return id
    }
    const [kept, ...working] = await Promise.all(Array.from({ length: 11 }, () => Wire.open(port)))
    const first = await send(kept as Wire) // there are eleven
    expectAnswer(await (kept as Wire).answer(), 200, 'handled', first) // as above
    const ids = await Promise.all(working.map(send))
    await expect.poll(() => messages.filter((message) => message === 'begun').length).toBe(11)
    const exited = once(child, 'exit')
    const watch = startWatch()
    child.kill('SIGTERM')
    for (const [at, wire] of working.entries()) expectAnswer(await wire.answer(), 200, 'handled', ids[at])
    expect(await exited).toEqual([0, null])
    expect(watch()).toBeLessThan(30_000) // Fastify keeps an idle connection for 72 s
    expect(kept?.isOpen).toBe(false)
  },
)

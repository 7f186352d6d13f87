import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundle } from '../../support/bundle.ts'
import { startWatch } from '../../support/watch.ts'
import { hosts } from './hosts.ts'
import { expectAnswer, type Sample, SECRET, sample } from './scene.ts'
import { head, Wire } from './wire.ts'

const SERVER = fileURLToPath(new URL('closing-server.ts', import.meta.url))

async function startProcess(host: string, what: string) {
  const child = fork(await bundle(SERVER), [host, what], {
    env: { ...process.env, WEBHOOK_SECRET: SECRET },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [{ port }] = await once(child, 'message')
  let begun = 0
  child.on('message', () => begun++)
  /** Waits until so many deliveries have reached the step in which they wait. Closing counts as one. */
  const whenBegun = (count: number) => expect.poll(() => begun).toBe(count)
  return { child, port: port as number, whenBegun }
}

/** Sends whole deliveries, each on its own connection. */
async function sendAll(port: number, deliveries: readonly Sample[]): Promise<readonly Wire[]> {
  const wires = await Promise.all(deliveries.map(() => Wire.open(port)))
  const requests = deliveries.map(({ bytes, headers }) => Buffer.concat([Buffer.from(head(headers)), bytes]))
  await Promise.all(wires.map((wire, at) => wire.send(requests[at] ?? '')))
  return wires
}

const ENDS = ['exit after close()', 'stop the server after close()', 'stop the server beside close()']

describe('receiver.close()', () => {
  it.each(hosts.flatMap(({ name }) => ENDS.map((told) => [name, told] as const)))(
    'loses no answer on %s, and lets the process end though a connection is kept: %s',
    async (host, told) => {
      const { child, port, whenBegun } = await startProcess(host, 'slow handler')
      const first = sample()
      const [kept] = await sendAll(port, [first])
      expectAnswer(await (kept as Wire).answer(), 200, 'handled', first.id) // there is one
      const deliveries = Array.from({ length: 20 }, () => sample())
      const wires = await sendAll(port, deliveries)
      const slow = sample()
      const reading = await Wire.open(port)
      await reading.send(head(slow.headers), slow.bytes.subarray(0, 20))
      await whenBegun(21)
      const exited = once(child, 'exit')
      const watch = startWatch()
      child.send(told)
      await whenBegun(22)
      await reading.send(slow.bytes.subarray(20))
      for (const [at, wire] of wires.entries()) expectAnswer(await wire.answer(), 200, 'handled', deliveries[at]?.id)
      // It had not begun: the service retries it.
      expectAnswer(await reading.answer(), 503, 'closing', slow.id)
      expect(await exited).toEqual([0, null])
      expect(watch()).toBeLessThan(30_000) // Fastify keeps an idle connection for 72 s
    },
  )

  it.each(hosts.map(({ name }) => name))('does not wait for a body that stalls on %s', async (host) => {
    const { child, port, whenBegun } = await startProcess(host, 'quick handler')
    const stalling = await Wire.open(port)
    const { headers, bytes } = sample({ tamper: 'other-secret' })
    await stalling.send(head(headers), bytes.subarray(0, 20))
    await sendAll(port, [sample()])
    await whenBegun(1)
    const exited = once(child, 'exit')
    const watch = startWatch()
    child.send('exit after close()')
    expectAnswer(await stalling.answer(), 503, 'closing')
    expect(await exited).toEqual([0, null])
    expect(watch()).toBeLessThan(3_000)
  })

  it('loses no answer of deliveries that wait for their secrets', async () => {
    const { child, port, whenBegun } = await startProcess('node:http', 'slow secrets')
    const deliveries = Array.from({ length: 20 }, () => sample())
    const wires = await sendAll(port, deliveries)
    await whenBegun(20)
    const exited = once(child, 'exit')
    child.send('exit after close()')
    for (const [at, wire] of wires.entries()) expectAnswer(await wire.answer(), 503, 'closing', deliveries[at]?.id)
    expect(await exited).toEqual([0, null])
  })
})

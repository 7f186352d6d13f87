import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { distinctHosts, type Host } from './hosts.ts'
import { type Sample, type Scene, sample, startScene } from './scene.ts'

/** Many concurrent deliveries, in any order, on every host. */
describe.each(distinctHosts)('$name', (host: Host) => {
  it('runs each of 40 events once for 200 shuffled deliveries, mixed with forged ones', async () => {
    const scene = await startScene(host)
    const right = Array.from({ length: 40 }, () => sample())
    const forged = Array.from({ length: 20 }, () => sample({ tamper: 'flip-bit' }))
    const all = shuffle([...Array(5).fill(right).flat(), ...forged])
    expect(await deliverAll(scene, all)).toEqual(all.map((delivery) => (forged.includes(delivery) ? 401 : 200)))
    expect(Object.fromEntries(scene.runs)).toEqual(Object.fromEntries(right.map(({ id }) => [id, 1])))
  })
})

/** Sends over kept connections, and returns the statuses of the answers. */
function deliverAll({ port }: Scene, deliveries: readonly Sample[]): Promise<readonly number[]> {
  const send = async ({ bytes, headers }: Sample) => {
    const lines = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
    const init = { method: 'POST', headers: lines, body: new Uint8Array(bytes) }
    const response = await fetch(`http://127.0.0.1:${port}/webhooks`, init)
    await response.arrayBuffer()
    return response.status
  }
  return Promise.all(deliveries.map(send))
}

/** Returns another order on each run. When a test fails, fast-check prints its seed, and this prints its own. */
function shuffle<T>(values: readonly T[]): readonly T[] {
  return fc.sample(fc.shuffledSubarray([...values], { minLength: values.length }), 1)[0] ?? []
}

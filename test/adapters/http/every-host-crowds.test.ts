import { Agent, request as httpRequest } from 'node:http'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { distinctHosts, type Host } from './hosts.ts'
import { type Sample, type Scene, sample, startScene, toOutgoing } from './scene.ts'
import type { Answer } from './wire.ts'

/** Many concurrent deliveries, in any order, on every host. */
describe.each(distinctHosts)('$name', (host: Host) => {
  it('runs each of 40 events once for 200 shuffled deliveries, mixed with forged ones', async () => {
    const scene = await startScene(host)
    const right = Array.from({ length: 40 }, () => sample())
    const forged = Array.from({ length: 20 }, () => sample({ tamper: 'flip-bit' }))
    const all = shuffle([...Array(5).fill(right).flat(), ...forged])
    const answers = await deliverAll(scene, all, 40)
    const forgedIds = new Set(forged.map(({ id }) => id))
    for (const [at, answer] of answers.entries())
      expect(answer.status).toBe(forgedIds.has(all[at]?.id ?? '') ? 401 : 200)
    expect(scene.runs.size).toBe(40)
    expect(new Set(scene.runs.values())).toEqual(new Set([1]))
    for (const { id } of right) expect(scene.runs.get(id)).toBe(1)
  })
})

/** Sends over keep-alive connections, `atOnce` of them; returns the answers in the order of the deliveries. */
async function deliverAll({ port }: Scene, deliveries: readonly Sample[], atOnce: number): Promise<Answer[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  try {
    return await Promise.all(deliveries.map((delivery) => post(agent, port, delivery)))
  } finally {
    agent.destroy()
  }
}

function post(agent: Agent, port: number, { bytes, headers }: Sample): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { agent, port, host: '127.0.0.1', path: '/webhooks', method: 'POST', headers: toOutgoing(headers) }
    const request = httpRequest(options, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (part) => {
        body += part
      })
      response.on('end', () =>
        // this header is never a list
        resolve({ status: response.statusCode ?? 0, headers: { ...response.headers } as Answer['headers'], body }),
      )
    })
    request.on('error', reject).end(bytes)
  })
}

/** Returns another order on each run. When a test fails, fast-check prints its seed, and this prints its own. */
function shuffle<T>(values: readonly T[]): readonly T[] {
  return fc.sample(fc.shuffledSubarray([...values], { minLength: values.length }), 1)[0] ?? []
}

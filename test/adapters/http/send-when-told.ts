import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Receiver } from 'postern'
import { events, signed } from 'postern/testing'

const BESIDE_EACH_OTHER = 16

/**
 * Waits for the parent's message, and then passes the receiver the events `evt_0` to `evt_COUNT` in its own order, each until it is
 * acknowledged. It reports each acknowledgement immediately as one line, before anything else, like a 2xx over the network.
 */
export async function sendWhenTold(receiver: Pick<Receiver, 'receive'>, secret: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `evt_${index}`).sort(() => Math.random() - 0.5)
  const send = async (id: string) => {
    const delivery = signed(events.contact.created({}, { id, accountKey: 'acme' }), { secret })
    while ((await receiver.receive(delivery)).status !== 200) await sleep(50)
    writeSync(1, `${id}\n`)
  }
  const lane = async () => {
    for (let id = ids.pop(); id !== undefined; id = ids.pop()) await send(id)
  }
  process.send?.('ready')
  await once(process, 'message')
  await Promise.all(Array.from({ length: BESIDE_EACH_OTHER }, lane))
}

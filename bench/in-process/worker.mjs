/**
 * Runs one contestant: `worker.mjs NAME SIZE`. A contestant is made with a handler, signs a body in its own scheme, and takes
 * deliveries. Only the deliveries are timed; bodies are made and signed before.
 */
import { makeBody } from '../deliveries.mjs'

const [name, size] = [process.argv[2], Number(process.argv[3])]
let handled = 0
const { create } = await import(`./${name}.mjs`)
const contestant = await create({
  onEvent: (record) => {
    handled += record._id.length > 0 ? 1 : 0
  },
})

async function checkSelf() {
  const { body, id } = makeBody(size)
  handled = 0
  await contestant.deliver(contestant.sign(body, id))
  if (handled !== 1) throw new Error(`a good delivery reached the handler ${handled} times`)
  const tampered = contestant.sign(body, id)
  tampered.body = Buffer.from(tampered.body)
  tampered.body[size - 10] ^= 1
  try {
    await contestant.deliver(tampered)
  } catch {
    // Most peers throw; what counts is the handler.
  }
  if (handled !== 1) throw new Error('a changed delivery reached the handler')
}

/** Bodies of all rounds lie in one piece of memory: allocating them anew would make the collector run over the deliveries. */
let slab = Buffer.alloc(0)

function inSlab(delivery, index, stride) {
  const start = index * stride
  return { ...delivery, body: slab.subarray(start, start + delivery.body.copy(slab, start)) }
}

async function playRound(count) {
  const stride = size + 64
  if (slab.length < count * stride) slab = Buffer.alloc(count * stride)
  const deliveries = Array.from({ length: count }, (_, index) => {
    const { body, id } = makeBody(size)
    return inSlab(contestant.sign(body, id), index, stride)
  })
  handled = 0
  const start = process.cpuUsage()
  for (const delivery of deliveries) await contestant.deliver(delivery)
  const { user, system } = process.cpuUsage(start)
  if (handled !== count) throw new Error(`${handled} of ${count} deliveries were handled`)
  return (user + system) / count
}

process.on('disconnect', () => process.exit())
process.on('message', async ({ count }) => {
  try {
    process.send(count === 0 ? ((await checkSelf()) ?? 'ok') : await playRound(count))
  } catch (error) {
    process.send({ error: String(error) })
  }
})

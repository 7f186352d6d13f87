/**
 * Runs one contestant: `worker.mjs NAME SIZE`. A contestant is made with a handler, signs a body in its own scheme unless that is the
 * service's, and takes deliveries. Answers `{ count }` with the CPU time of a delivery; bodies are made and signed beforehand.
 */
import { answer, startCpu } from '../answer.mjs'
import { makeBody } from '../deliveries.mjs'
import { sign } from '../receivers/by-hand.mjs'

const [name, size] = [process.argv[2], Number(process.argv[3])]
let handled = 0
const { create } = await import(`./${name}.mjs`)
const contestant = await create((record) => {
  handled += record._id.length > 0 ? 1 : 0
})

function makeDelivery() {
  const { body, id } = makeBody(size)
  return contestant.sign === undefined ? { body, signature: sign(body) } : contestant.sign(body, id)
}

async function checkSelf() {
  const delivery = makeDelivery()
  await contestant.deliver(delivery)
  if (handled !== 1) throw new Error(`a good delivery reached the handler ${handled} times`)
  if (contestant.dedupes) await contestant.deliver(delivery)
  if (handled !== 1) throw new Error('a duplicate reached the handler')
  const tampered = makeDelivery()
  tampered.body[size - 10] ^= 1
  try {
    await contestant.deliver(tampered)
  } catch {
    // Most peers throw; only the handler counts.
  }
  if (handled !== 1) throw new Error('a changed delivery reached the handler')
}

/** Bodies of all rounds share one piece of memory: with new allocations the garbage collector would run during the deliveries. */
let slab = Buffer.alloc(0)

function inSlab(delivery, index, stride) {
  const start = index * stride
  return { ...delivery, body: slab.subarray(start, start + delivery.body.copy(slab, start)) }
}

async function playRound(count) {
  const stride = size + 64
  if (slab.length < count * stride) slab = Buffer.alloc(count * stride)
  const deliveries = Array.from({ length: count }, (_, index) => inSlab(makeDelivery(), index, stride))
  // Moves the deliveries out of the young generation. Otherwise collections would copy them during the measurement, in some rounds only.
  for (let turn = 0; turn < 2; turn++) globalThis.gc({ type: 'minor' })
  handled = 0
  const readCpu = startCpu()
  for (const delivery of deliveries) await contestant.deliver(delivery)
  const cpu = readCpu()
  if (handled !== count) throw new Error(`${handled} of ${count} deliveries were handled`)
  return cpu / count
}

answer(({ count }) => (count === 0 ? checkSelf() : playRound(count)))

/**
 * Measures the cost of a refused delivery: `worker.mjs KIND`. Answers `{ count }` with the CPU time of one; a body that was read or a
 * handler that ran is an error.
 */
import { answer, startCpu } from '../answer.mjs'
import { makeBody } from '../deliveries.mjs'
import { HEADER, isSigned, sign } from '../receivers/by-hand.mjs'
import { createPostern } from '../receivers/postern.mjs'

const silent = () => {}
let handled = 0
let read = 0
const receiver = createPostern(() => handled++, {
  logger: { debug: silent, info: silent, warn: silent, error: silent },
})
const { body } = makeBody(611)
const forgery = sign(body, 'another secret')

const request = (signature) => ({
  method: 'POST',
  header: (name) => (name === HEADER ? signature : name === 'content-length' ? '611' : undefined),
  read: () => {
    read++
    return body
  },
})

const KINDS = {
  'HMAC and compare': () => (isSigned(body, forgery) ? 200 : 401),
  'forged signature': async () => (await receiver.receive({ body, signature: forgery })).status,
  'missing signature': async () => (await receiver.handle(request(undefined))).status,
  'malformed signature': async () => (await receiver.handle(request('sha256=abc'))).status,
}

const refuse = KINDS[process.argv[2]]
answer(async ({ count }) => {
  const readCpu = startCpu()
  let refused = 0
  for (let index = 0; index < count; index++) if ((await refuse()) === 401) refused++
  const cpu = readCpu()
  if (refused !== count || handled > 0 || read > 0)
    throw new Error(`${refused} of ${count} refused, ${handled} handled, ${read} bodies read`)
  return cpu / count
})

/** What a refused delivery costs: `worker.mjs KIND`. Answers `{ count }` with the CPU time in µs of one. */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { createReceiver } from '../../dist/index.js'
import { makeBody, SECRET } from '../deliveries.mjs'

const silent = () => {}
let handled = 0
let read = 0
const receiver = createReceiver({
  secret: SECRET,
  logger: { debug: silent, info: silent, warn: silent, error: silent },
})
receiver.on('*', () => {
  handled++
})
const key = createSecretKey(SECRET, 'utf8')
const forgery = `sha256=${createHmac('sha256', 'another secret').update('x').digest('hex')}`
const { body } = makeBody(611)

const request = (signature) => ({
  method: 'POST',
  header: (name) => (name === 'x-service-signature' ? signature : name === 'content-length' ? '611' : undefined),
  read: () => {
    read++
    return body
  },
})

const KINDS = {
  'HMAC and compare alone': () => {
    const presented = Buffer.from(forgery.slice(7), 'hex')
    return timingSafeEqual(presented, createHmac('sha256', key).update(body).digest()) ? 200 : 401
  },
  'forged signature': async () => (await receiver.receive({ body, signature: forgery })).status,
  'missing signature': async () => (await receiver.handle(request(undefined))).status,
  'malformed signature': async () => (await receiver.handle(request('sha256=abc'))).status,
}

const refuse = KINDS[process.argv[2]]
process.on('disconnect', () => process.exit())
process.on('message', async ({ count }) => {
  const start = process.cpuUsage()
  let refused = 0
  for (let index = 0; index < count; index++) if ((await refuse()) === 401) refused++
  const { user, system } = process.cpuUsage(start)
  const problem = refused !== count || handled > 0 || read > 0
  process.send(
    problem
      ? { error: `${refused} of ${count} refused, ${handled} handled, ${read} bodies read` }
      : (user + system) / count,
  )
})

/**
 * The shared parts of the programs that accept events into an inbox, each compared with a bare durable insert: the checks of a bare one, a
 * receiver whose handlers do nothing, and the measurement of both.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createReceiver, sign } from '../../dist/index.js'
import { answer, startCpu } from '../answer.mjs'
import { makeBody } from '../deliveries.mjs'

const SECRET = 'whsec_bench'
const SIZE = 611
const ACCOUNTS = 100

/** A contestant that checks the signature, parses the body, and inserts its bytes by its id. */
export function acceptBare(insert) {
  return async (body, signature) => {
    const digest = createHmac('sha256', SECRET).update(body).digest()
    const given = Buffer.from(signature.slice(7), 'hex')
    if (given.length !== digest.length || !timingSafeEqual(given, digest)) return 401
    await insert(JSON.parse(body.toString()).id, body)
    return 200
  }
}

/** Returns the `accept` and `work` of a receiver with an inbox. With `lanes`, new events are about ten thousand records in turn. */
export function makeReceiver(options, kind) {
  let accepted = 0
  const receiver = createReceiver({
    secret: SECRET,
    ...(kind === 'lanes' && { lane: () => `record ${accepted++ % 10_000}` }),
    onError: ({ message, cause }) => fail(`${message} ${cause}`),
    ...options,
  })
  let ran = 0
  let onRun = () => {}
  receiver.on('contact.created', () => {
    ran++
    onRun()
  })
  return {
    accept: async (body, signature) => (await receiver.receive({ body, signature })).status,
    async work(events) {
      const until = ran + events
      const done = new Promise((resolve) => {
        onRun = () => ran >= until && resolve()
      })
      let worker
      const figures = await measure(events, async () => {
        worker = receiver.work({ concurrency: 100 })
        await done
      })
      await worker.close()
      return figures
    },
  }
}

/**
 * SQL of the lane and the state of the n-th event of a backlog, each of 100,000 rows, and of that for events without lanes. A lane has a row
 * of each backlog, and one lane a tenth of all.
 */
export function toPlaces(kind) {
  if (kind !== 'lanes') return { lane: 'NULL', state: '0' }
  const lane = `CASE WHEN n % 10 = 0 THEN 'hot' ELSE 'lane ' || n END`
  const isBehind = `(n > 0 AND n % 10 = 0) OR EXISTS (SELECT 1 FROM postern_inbox i WHERE i.lane = ${lane} AND i.state <> 4)`
  return { lane, state: `CASE WHEN ${isBehind} THEN 6 ELSE 0 END` }
}

/** Returns the n-th event of a backlog of a hundred accounts. */
export function makeEvent(n) {
  const { id, body } = makeBody(SIZE)
  const account = `account-${n % ACCOUNTS}`
  const key = `7:default${account.length}:${account}${id.length}:${id}`
  return { id, account, key, text: body.toString().replace('"acme"', `"${account}"`) }
}

export async function measure(events, work) {
  const started = performance.now()
  const readCpu = startCpu()
  await work()
  return { cpu: readCpu() / events, rate: (events / (performance.now() - started)) * 1_000 }
}

/** Exits with a message: if events fail, a figure of them means nothing. */
export function fail(message) {
  console.error(message)
  process.exit(1)
}

async function accept(contestant, events, beside) {
  const deliveries = Array.from({ length: events }, () => {
    const { body } = makeBody(SIZE)
    return { body, signature: sign(body, SECRET) }
  })
  const times = []
  const figures = await measure(events, () =>
    Promise.all(
      Array.from({ length: beside }, async () => {
        for (let next = deliveries.pop(); next !== undefined; next = deliveries.pop()) {
          const asked = performance.now()
          if ((await contestant.accept(next.body, next.signature)) !== 200) throw new Error('an event was not accepted')
          times.push(performance.now() - asked)
        }
      }),
    ),
  )
  times.sort((a, b) => a - b)
  return { ...figures, p99: times[Math.floor(events * 0.99)] }
}

/**
 * Answers the bench: `{ accept, beside }` with the figures of so many new events, `{ work }` with those of so many handled ones. `{ fill }`
 * adds so many.
 */
export function answerFor(contestant) {
  answer(async (question) => {
    if (question.counts !== undefined) return contestant.counts()
    if (question.fill !== undefined) return contestant.fill(question.fill)
    const figures =
      question.accept === undefined
        ? await contestant.work(question.work)
        : await accept(contestant, question.accept, question.beside)
    return { ...figures, rss: process.memoryUsage().rss / 1_048_576 }
  })
}

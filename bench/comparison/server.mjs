/**
 * One receiver of the comparison in its own process, with the probe of `postern check` at `/probe`: `server.mjs NAME`. Answers
 * `{ port: true }` with its port.
 */
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer } from '../answer.mjs'
import { RECEIVERS } from './receivers.mjs'

process.env.NODE_ENV = 'production' // else Express answers failures with a stack trace

const runs = new Map()
const failing = new Set()

/** Takes some time, so that duplicates meet. */
async function work(event) {
  await sleep(20)
  if (failing.delete(event.id)) throw new Error('the probe asked for it')
  runs.set(event.id, (runs.get(event.id) ?? 0) + 1)
}

const listener = RECEIVERS[process.argv[2]](work)
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost')
  if (pathname !== '/probe') return listener(request, response)
  const id = searchParams.get('id')
  if (request.method === 'POST') failing.add(id)
  response.end(JSON.stringify({ runs: runs.get(id) ?? 0 }))
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
answer(() => server.address().port)

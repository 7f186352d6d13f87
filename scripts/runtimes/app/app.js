/**
 * The program that every Fetch runtime serves: receivers on separate paths, and a record of their handlers' runs, which the cases query. It
 * is plain JavaScript and imports the built package by its name, as an app does.
 */
import { createReceiver } from 'postern'
import { fetchHandler } from 'postern/web'

const THROWN = { error: new Error('as the event asked'), undefined, null: null, text: 'as the event asked' }

/** Counts by event id the starts and ends of its handler, and keeps the text that it got. */
const told = new Map()
const errors = []

const normal = mount('normal', {})
const quick = mount('quick', { deadlineMs: 1_000, leaseMs: 2_000 })

const routes = {
  '/webhooks': normal,
  '/quick': quick,
  // The host's context is not passed: nothing keeps work awake that outlives the answer.
  '/unkept': (request) => quick(request),
  '/consumed': async (request, ...host) => {
    await request.text()
    return normal(request, ...host)
  },
  '/told': (request) => Response.json(told.get(new URL(request.url).searchParams.get('id')) ?? { runs: 0, ended: 0 }),
  '/errors': () => Response.json(errors),
}

/** Passes all arguments of the host to the adapter. */
export function serve(request, ...host) {
  const route = routes[new URL(request.url).pathname]
  return route === undefined ? new Response(null, { status: 404 }) : route(request, ...host)
}

function mount(name, options) {
  const receiver = createReceiver({
    secret: process.env.WEBHOOK_SECRET,
    name,
    onError: ({ code }) => errors.push(code),
    ...options,
  })
  receiver.on('*', async ({ id, data }) => {
    const record = told.get(id) ?? { runs: 0, ended: 0 }
    told.set(id, record)
    record.runs++
    record.text = data.text
    if (data.sleepMs > 0 && record.runs === 1) await new Promise((resolve) => setTimeout(resolve, data.sleepMs))
    if (record.runs <= (data.failures ?? 0)) throw THROWN[data.throws ?? 'error']
    record.ended++
  })
  return fetchHandler(receiver)
}

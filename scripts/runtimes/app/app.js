/**
 * The program that every Fetch runtime serves: receivers on separate paths, and the record of their work. It is plain JavaScript and imports
 * the built package by its name, as an app does.
 */
import { createReceiver } from 'postern'
import { fetchHandler } from 'postern/web'
import { probe, tell, work } from './work.js'

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
  '/told': (request) => Response.json(tell(idOf(request))),
  '/probe': (request) => Response.json(probe(request.method, idOf(request))),
  '/errors': () => Response.json(errors),
}

/** Passes all arguments of the host to the adapter. */
export function serve(request, ...host) {
  const route = routes[new URL(request.url).pathname]
  return route === undefined ? new Response(null, { status: 404 }) : route(request, ...host)
}

function idOf(request) {
  return new URL(request.url).searchParams.get('id')
}

function mount(name, options) {
  const receiver = createReceiver({
    secret: process.env.WEBHOOK_SECRET,
    name,
    onError: ({ code }) => errors.push(code),
    ...options,
  })
  return fetchHandler(receiver.on('*', work))
}

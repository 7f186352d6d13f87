import { once } from 'node:events'
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { ConfigurationError } from '../protocol/errors.ts'
import type { Emulator } from './emulator-api.ts'
import { createHandles } from './handles.ts'
import { createApp } from './http/create-app.ts'
import { checkOptions, type EmulatorOptions, type Settings } from './options.ts'
import { Refusal } from './refusal.ts'
import { createService } from './service.ts'

/** Bodies and heads that come slower than this are cut off. */
const REQUEST_TIMEOUT_MS = 30_000

/**
 * Starts the service in this process: its endpoints, its signed deliveries with five attempts, and the control interface below
 * `/_emulator`.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`, `database_unusable`, `port_in_use`
 * @example
 * await using crm = await startEmulator({ clock: 'manual' })
 * const webhook = crm.webhooks.create({ url: 'http://localhost:3000/webhooks', events: ['contact.created'] })
 * crm.records.create('contact', { firstName: 'Zoë' })
 * await crm.clock.advance('30s')
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const settings = checkOptions(options)
  const service = createService(settings)
  let url = 'http://emulator.localhost'
  const app = createApp(service, () => ({ type: 'ready', url }))
  const server = await listen(app.fetch, settings).catch(async (error) => {
    await service.close()
    throw error
  })
  if (server !== undefined) url = urlOf(server, settings.host)
  service.engine.start()
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= stop(server).then(() => service.close())
    return closing
  }
  return {
    ...createHandles(service),
    url,
    clock: service.clock,
    async fetch(request) {
      if (!(request instanceof Request)) throw new Refusal('invalid', 'fetch takes a Request')
      return app.fetch(request)
    },
    subscribe(listener) {
      if (typeof listener !== 'function') throw new Refusal('invalid', 'subscribe takes a function of a message')
      return service.feed.subscribe(listener)
    },
    reset: () => service.reset(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function listen(
  fetch: (request: Request) => unknown,
  { port, host }: Pick<Settings, 'port' | 'host'>,
): Promise<Server | undefined> {
  if (port === false) return undefined
  // Options of node:http: an HTTP/1.1 server is what it makes of them.
  const server = createAdaptorServer({ fetch, overrideGlobalObjects: false, hostname: host }) as Server
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.headersTimeout = REQUEST_TIMEOUT_MS
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    const isOfHost = /ENOTFOUND|EAI_|EADDRNOTAVAIL|EINVAL/.test(String(cause))
    const fix = isOfHost ? 'Give an address of this machine as host.' : 'Give another port.'
    throw new ConfigurationError(
      'port_in_use',
      `The emulator cannot listen on ${host}:${port}: ${String(cause)}. ${fix}`,
      { cause },
    )
  }
  return server
}

async function stop(server: Server | undefined): Promise<void> {
  if (server === undefined) return
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

function urlOf(server: Server, host: string): string {
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}

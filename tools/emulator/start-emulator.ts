import * as z from 'zod'
import { isPlain } from '../../src/protocol/copy-plain.ts'
import { checkInput, must } from './check-input.ts'
import type { Emulator } from './emulator-api.ts'
import type { FeedListener } from './feed.ts'
import { createHandles } from './handles.ts'
import { createApp } from './http/create-app.ts'
import { listen, stop, urlOf } from './http/listen.ts'
import { checkEmulatorOptions, type EmulatorOptions } from './options.ts'
import { Refusal } from './refusal.ts'
import { createService } from './service.ts'

const requestShape = z.custom<Request>((value) => typeof Object(value).url === 'string', must('a Request'))
const listenerShape = z.custom<FeedListener>((value) => typeof value === 'function', must('a function'))

/**
 * Starts an emulator of the service in this process: its endpoints, its signed deliveries with five attempts, and a control interface
 * below `/_emulator`.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`, `database_unusable`, `port_in_use`
 * @example
 * await using crm = await startEmulator({ clock: 'manual' })
 * const webhook = crm.webhooks.create({ url: 'http://localhost:3000/webhooks', events: ['contact.created'] })
 * crm.records.create('contact', { firstName: 'Zoë' })
 * await crm.clock.advance('30s')
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const settings = checkEmulatorOptions(options)
  const service = createService(settings)
  let url = 'http://emulator.localhost'
  const app = createApp(service, () => ({ type: 'ready', url }))
  const { port, host } = settings
  const listening = port === false ? undefined : listen(app.fetch, { port, host, owner: 'The emulator' })
  const server = await listening?.catch(async (error) => {
    await service.close()
    throw error
  })
  if (server !== undefined) url = urlOf(server, host)
  service.engine.start()
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= (server === undefined ? Promise.resolve() : stop(server)).then(() => service.close())
    return closing
  }
  return {
    ...createHandles(service),
    url,
    clock: service.clock,
    fetch: async (request) => app.fetch(checkInput(request, requestShape, 'fetch: request')),
    subscribe: (listener) => service.feed.subscribe(checkInput(listener, listenerShape, 'subscribe: listener')),
    reset(part?: unknown) {
      // Runners of tests pass their context to hooks: afterEach(emulator.reset).
      if (typeof part === 'string' || isPlain(part))
        throw new Refusal('invalid', 'reset: it takes nothing, and removes all data')
      service.reset()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

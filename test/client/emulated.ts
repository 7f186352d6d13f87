import { createReceiver, type Receiver } from 'postern'
import { type Client, createClient, type SecretKeeper } from 'postern/client'
import type { Emulator, EmulatorOptions } from 'postern/emulator'
import { nodeHandler } from 'postern/node'
import { quiet, serve, start } from '../emulator/support.ts'
import { HastyClock } from './support.ts'

/** A service, an app and a client, all over real HTTP on loopback. They end with the test. */
export interface Scene {
  readonly crm: Emulator
  readonly client: Client
  readonly receiver: Receiver
  readonly url: string
  /** The number of runs for each event id. */
  readonly handled: ReadonlyMap<string, number>
  readonly keeper: SecretKeeper
  readonly app: { isDown: boolean }
}

/** @param clock the client's; by default its waits take no time */
export async function setScene(
  options: EmulatorOptions = {},
  clock: 'hasty' | 'real' | 'shared' = 'hasty',
): Promise<Scene> {
  const crm = await start(options)
  const secrets = new Map<string, string>()
  const handled = new Map<string, number>()
  const app = { isDown: false }
  const receiver = createReceiver({ secret: () => [...secrets.values()], logger: quiet })
  receiver.on('*', ({ id }) => {
    if (app.isDown) throw new Error('down')
    handled.set(id, (handled.get(id) ?? 0) + 1)
  })
  // While it is away it sends no answers that would take time.
  const handle = nodeHandler(receiver)
  const { url } = await serve((request, response) =>
    app.isDown ? void response.writeHead(503).end() : handle(request, response),
  )
  const client = createClient({
    baseUrl: crm.url,
    email: 'ada@acme.test',
    password: 'password',
    logger: quiet,
    ...(clock === 'hasty' && { clock: new HastyClock(), timeoutMs: 20_000 }),
    ...(clock === 'shared' && { clock: crm.clock }),
  })
  const keeper: SecretKeeper = {
    hasSecret: (id) => secrets.has(id),
    saveSecret: (secret, { id }) => void secrets.set(id, secret),
  }
  return { crm, client, receiver, url: `${url}/webhooks`, handled, keeper, app }
}

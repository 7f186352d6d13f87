import { rename, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { createEvents, signed } from 'postern/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeNextApp, type NextApp } from '../support/next-app.ts'
import { ROOT } from '../support/repository.ts'
import { startShell } from '../support/shell.ts'

const SECRET = 'whsec_of_the_reload'
const PATH = [join(ROOT, 'node_modules/.bin'), process.env.PATH].join(delimiter)

const events = createEvents()
let app: NextApp
beforeAll(async () => {
  app = await makeNextApp()
})
afterAll(() => app?.remove())

/** The files into which people split a receiver: only the handlers are edited often. */
const STORE = `import { memoryStore } from 'postern'
export const store = memoryStore()
`
const receiverFile = (version: string, store: string) => `import { createReceiver } from 'postern'
import { store } from '${store}'
export const receiver = createReceiver({ secret: '${SECRET}', store })
console.log('made receiver ${version}')
`
const handlersFile = (version: string, receiver: string) => `import { receiver } from '${receiver}'
receiver
  .on('contact.created', (event) => console.log('handlers ${version} ' + event.id))
  .on('*', { name: 'audit' }, (event) => console.log('audit ${version} ' + event.id))
`
const ROUTE = `import { nextHandler } from 'postern/next'
import '@/lib/handlers'
import { receiver } from '@/lib/receiver'
export const POST = nextHandler(receiver)
`
const SERVER = `import { createServer } from 'node:http'
import { nodeHandler } from 'postern/node'
import './handlers.ts'
import { receiver } from './receiver.ts'
const server = createServer(nodeHandler(receiver))
server.listen(0, '127.0.0.1', () => console.log('listening on ' + server.address().port))
`

/** Saves a file in one step, as editors do: a server that reloads at the first change would otherwise find it empty. */
async function edit(name: string, text: string): Promise<void> {
  const saved = `${app.folder}.saved`
  await writeFile(saved, text)
  await rename(saved, join(app.folder, name))
}

/** Returns the answer's status and code, and the event's id. */
async function send(url: string, event = events.contact.created()) {
  const response = await fetch(signed(event, { secret: SECRET }).request(url))
  const text = await response.text()
  return { status: response.status, code: /"code":"(\w+)"/.exec(text)?.[1] ?? text, event }
}

/** Sends events until the last saved code handles one: the server takes a while to notice a change. */
async function untilHandledBy(version: string, toUrl: () => string, log: () => string): Promise<void> {
  const isHandled = async () => {
    const { status, code, event } = await send(toUrl()).catch(() => restarting)
    if (event === undefined) return false
    expect({ status, code }, log()).toEqual({ status: 200, code: 'handled' })
    await expect.poll(log).toMatch(new RegExp(`audit . ${event.id}`))
    return log().includes(`handlers ${version} ${event.id}`) && log().includes(`audit ${version} ${event.id}`)
  }
  await expect.poll(isHandled, { interval: 200 }).toBe(true)
}

const restarting = { status: 0, code: '', event: undefined }
const REGISTERED = 'Handlers are registered after the first delivery'
const REPLACED = 'A newer receiver has replaced an older one'
const count = (text: string, part: string) => text.split(part).length - 1

it('next dev reloads edited handlers and receivers, and remembers events', async () => {
  await edit('lib/store.ts', STORE)
  await edit('lib/receiver.ts', receiverFile('1', './store'))
  await edit('lib/handlers.ts', handlersFile('1', './receiver'))
  await edit('app/webhooks/route.ts', ROUTE)
  const server = await app.dev({})
  const toUrl = () => `${server.url}/webhooks`
  try {
    await untilHandledBy('1', toUrl, server.log)
    const { event } = await send(toUrl())
    await edit('lib/handlers.ts', handlersFile('2', './receiver'))
    await untilHandledBy('2', toUrl, server.log)
    expect([count(server.log(), REGISTERED), count(server.log(), REPLACED)]).toEqual([1, 0])
    await edit('lib/receiver.ts', receiverFile('2', './store'))
    const isMade = async () => (await send(toUrl())) && server.log().includes('made receiver 2')
    await expect.poll(isMade).toBe(true)
    await untilHandledBy('2', toUrl, server.log)
    expect(count(server.log(), REGISTERED)).toBe(1)
    // Next may evaluate an edited file more than once: each new receiver replaces the one before.
    await expect.poll(() => count(server.log(), REPLACED)).toBe(count(server.log(), 'made receiver 2'))
    expect(await send(toUrl(), event)).toMatchObject({ status: 200, code: 'duplicate' })
  } finally {
    await server.stop()
  }
})

// These restart the app, in a new process or with new modules: nothing is replaced, and a store in memory forgets.
it.each(['tsx watch', 'vite-node --watch'])('%s reloads edited handlers', async (command) => {
  await edit('store.ts', STORE)
  await edit('receiver.ts', receiverFile('1', './store.ts'))
  await edit('handlers.ts', handlersFile('1', './receiver.ts'))
  await edit('server.ts', SERVER)
  const started = startShell(`unset NODE_ENV; exec ${command} server.ts`, app.folder, { PATH })
  const log = () => started.stdout + started.stderr
  const toUrl = () => `http://127.0.0.1:${[...log().matchAll(/listening on (\d+)/g)].at(-1)?.[1]}/`
  try {
    await started.until(/listening on \d+/)
    await untilHandledBy('1', toUrl, log)
    await edit('handlers.ts', handlersFile('2', './receiver.ts'))
    await untilHandledBy('2', toUrl, log)
    expect(log()).not.toContain('postern:')
  } finally {
    started.interrupt()
    await started.exitCode
  }
})

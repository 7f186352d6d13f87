import type { Emulator } from 'postern/emulator'
import { expect, it, onTestFinished } from 'vitest'
import { call, start, until } from './support.ts'

/** Opens a stream; `text` grows as it is read. */
async function open(crm: Pick<Emulator, 'url'>) {
  const stop = new AbortController()
  onTestFinished(async () => stop.abort())
  const response = await fetch(`${crm.url}/_emulator/stream`, { signal: stop.signal })
  const stream = { status: response.status, text: '', hasEnded: false, stop: () => stop.abort() }
  const read = async () => {
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) stream.text += part
  }
  read().then(
    () => {
      stream.hasEnded = true
    },
    () => {
      stream.hasEnded = true
    },
  )
  if (stream.status === 200) await until(() => stream.text.includes('event: ready'))
  return stream
}

/** Publishes as many messages before any can be sent. */
function publish(crm: Emulator, count: number): void {
  const { id } = crm.webhooks.create({ url: 'http://localhost/', events: ['sync.failed'], active: false })
  for (let sent = 1; sent < count; sent++) crm.webhooks.update(id, { description: String(sent) })
}

const countOf = (text: string) => text.split('event: webhook\n').length - 1

/** Returns the data of the messages of one type. */
const dataOf = (text: string, type: string) =>
  [...text.matchAll(new RegExp(`event: ${type}\ndata: (.*)\n\n`, 'g'))].map(([, json = '']) => JSON.parse(json))

it('begins with the run of the emulator and its time', async () => {
  const crm = await start()
  const { bootId } = Object((await call(crm, 'GET /_emulator/state')).json)
  expect(dataOf((await open(crm)).text, 'ready')).toEqual([
    { type: 'ready', bootId, now: new Date(crm.clock.now()).toISOString() },
  ])
})

it('describes deliveries without their bodies, and times as text', async () => {
  const crm = await start({ assume: { A31: 'kept' } })
  const stream = await open(crm)
  const webhook = crm.webhooks.create({ url: 'http://localhost/', events: ['a.b'], active: false })
  const [id] = crm.events.emit({ type: 'a.b' }).deliveries
  await crm.clock.advance(5)
  await until(() => stream.text.includes('event: clock'))
  const { json } = await call(crm, `GET /_emulator/deliveries/${id}`)
  const { body: _body, ...described } = Object(json)
  expect(dataOf(stream.text, 'delivery')).toEqual([{ type: 'delivery', delivery: described }])
  expect(dataOf(stream.text, 'webhook')).toEqual([
    { type: 'webhook', change: 'created', webhookId: webhook.id, accountKey: 'acme' },
  ])
  expect(dataOf(stream.text, 'clock')).toEqual([{ type: 'clock', now: new Date(crm.clock.now()).toISOString() }])
})

it('sends every listener everything, in order', async () => {
  const crm = await start()
  const [one, two] = [await open(crm), await open(crm)]
  publish(crm, 1_000)
  for (const stream of [one, two]) {
    await until(() => countOf(stream.text) === 1_000)
    expect(stream.text).toMatch(/"change":"created"[\s\S]*"change":"updated"/)
  }
})

it('cuts a listener that has more than 1000 unread messages, and the others continue', async () => {
  const crm = await start()
  const slow = await open(crm)
  publish(crm, 1_010)
  await until(() => slow.hasEnded)
  const next = await open(crm)
  publish(crm, 1)
  await until(() => countOf(next.text) === 1)
})

it('ends with the emulator', async () => {
  const crm = await start()
  const stream = await open(crm)
  await crm.close()
  await until(() => stream.hasEnded)
})

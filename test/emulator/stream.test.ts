import type { Emulator } from 'postern/emulator'
import { expect, it } from 'vitest'
import { onEnd, start, until } from './support.ts'

/** Opens a stream; `text` grows as it is read. */
async function open(crm: Pick<Emulator, 'url'>) {
  const stop = new AbortController()
  onEnd(async () => stop.abort())
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
  publish(crm, 1_001)
  await until(() => slow.hasEnded)
  const next = await open(crm)
  publish(crm, 1)
  await until(() => countOf(next.text) === 1)
})

it('accepts 64 listeners, and another once one has left', async () => {
  const crm = await start()
  const streams: Awaited<ReturnType<typeof open>>[] = []
  for (let opened = 0; opened < 64; opened++) streams.push(await open(crm))
  expect((await open(crm)).status).toBe(503)
  streams[7]?.stop()
  await until(() => streams[7]?.hasEnded === true)
  let status = 0
  for (const end = Date.now() + 15_000; status !== 200 && Date.now() < end; ) status = (await open(crm)).status
  expect(status).toBe(200)
})

it('ends with the emulator', async () => {
  const crm = await start()
  const stream = await open(crm)
  await crm.close()
  await until(() => stream.hasEnded)
})

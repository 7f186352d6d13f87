import { setTimeout as sleep } from 'node:timers/promises'
import type { Emulator } from 'postern/emulator'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Batch } from '../../src/inspector/shapes.ts'
import { call, sink, start, until } from './support.ts'

/** Listens as the page does. */
async function listen(crm: Pick<Emulator, 'url'>) {
  const stop = new AbortController()
  onTestFinished(async () => stop.abort())
  const response = await fetch(`${crm.url}/_emulator/stream?form=rows`, { signal: stop.signal })
  const batches: Batch[] = []
  let text = ''
  const read = async () => {
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const [, data] = /^event: batch\ndata: (.*)$/.exec(text.slice(0, end)) ?? []
        if (data !== undefined) batches.push(JSON.parse(data))
        text = text.slice(end + 2)
      }
    }
  }
  read().catch(() => {})
  return batches
}

const rowsIn = (batches: readonly Batch[]) => batches.flatMap(({ rows }) => rows)

describe('the stream of the page', () => {
  it('contains the last state of each delivery, in the order in which they were made', async () => {
    const crm = await start()
    const batches = await listen(crm)
    const receiver = await sink()
    crm.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    const events = crm.events.emitMany({ type: 'sync.failed' }, 500)
    await crm.clock.advance(0)
    await until(
      () =>
        new Set(
          rowsIn(batches)
            .filter(({ status }) => status === 'success')
            .map(({ id }) => id),
        ).size === 500,
    )
    expect([...new Set(rowsIn(batches).map(({ event }) => event))]).toEqual(events.map(({ id }) => id))
    expect(batches.length).toBeLessThan(200)
  })

  it('never cuts a reader off, no matter how much happens at the same time', async () => {
    const crm = await start()
    const batches = await listen(crm)
    crm.webhooks.create({ url: 'http://127.0.0.1:9/', events: ['sync.failed'] })
    crm.events.emitMany({ type: 'sync.failed' }, 5_000)
    await until(() => new Set(rowsIn(batches).map(({ id }) => id)).size === 5_000)
  })

  it('contains calls, webhooks, warnings, the time and a reset', async () => {
    const crm = await start()
    const batches = await listen(crm)
    crm.webhooks.create({ url: 'http://127.0.0.1:9/', events: ['invoice.paid'] })
    await call(crm, 'GET /api/sales/contacts')
    await crm.clock.advance('1m')
    crm.reset()
    const types = () => batches.flatMap(({ notices }) => notices.map(({ type }) => type))
    await until(() => types().includes('reset'))
    expect(types()).toEqual(['warning', 'webhook', 'call', 'clock', 'reset'])
  })

  it('sends a heartbeat when nothing happens', { timeout: 15_000 }, async () => {
    const batches = await listen(await start())
    await sleep(5_300)
    expect(batches).toMatchObject([{ notices: [], rows: [] }])
  })
})

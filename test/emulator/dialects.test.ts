import { createReceiver } from 'postern'
import { DIALECTS, type Dialect } from 'postern/emulator'
import { nodeHandler } from 'postern/node'
import { describe, expect, it } from 'vitest'
import { quiet, serve, start } from './support.ts'

describe('the dialect', () => {
  it.each(Object.keys(DIALECTS) as Dialect[])(
    '%s: a receiver handles its deliveries in the same way',
    async (dialect) => {
      const crm = await start({ dialect, format: 'random' })
      let secret = ''
      const runs: string[] = []
      const receiver = createReceiver({ secret: () => secret, clock: crm.clock, logger: { ...quiet, error() {} } })
      receiver.on('contact.created', (event) => {
        runs.push(event.id)
        if (runs.length === 1) throw new Error('down')
      })
      const { url } = await serve(nodeHandler(receiver))
      secret = crm.webhooks.create({ url, events: ['contact.created'] }).secret
      crm.records.create('contact')
      await crm.clock.advance('30s')
      expect(crm.deliveries.list()).toMatchObject([{ status: 'success', eventId: runs[0] }])
      expect(runs).toHaveLength(2)
    },
  )
})

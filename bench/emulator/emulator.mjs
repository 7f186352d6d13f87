import { startEmulator } from '../../dist/emulator.js'
import { makeBody } from '../deliveries.mjs'
import { SECRET } from '../receivers/by-hand.mjs'

/** Runs the emulator: events of the same size to one webhook, each logged. */
export async function createSender(url) {
  const emulator = await startEmulator({ port: false, format: 'compact' })
  emulator.webhooks.create({ url, events: ['contact.created'] }, { secret: SECRET })
  const { data } = JSON.parse(makeBody(611).body)
  return async (count) => {
    emulator.events.emitMany({ type: 'contact.created', data }, count)
    await emulator.deliveries.whenIdle()
    const open = emulator.deliveries.list().filter(({ status }) => status !== 'success').length
    if (open > 0) throw new Error(`${open} deliveries did not succeed`)
  }
}

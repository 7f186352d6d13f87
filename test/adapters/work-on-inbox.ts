import { createReceiver, type Inbox, type Store, systemClock } from 'postern'

/**
 * Handles the items of an inbox in a separate process. An event whose record says so kills it.
 *
 * @param note called for each run, with the number of runs that have not ended
 */
export function workOnInbox(
  engines: { readonly inbox: Inbox; readonly store?: Store },
  concurrency: string | undefined,
  note: (eventId: string, beside: number) => void,
): void {
  const receiver = createReceiver({
    secret: 'whsec_worker',
    leaseMs: 2_000,
    ...engines,
    logger: { debug() {}, info() {}, warn() {}, error: (_fields, message) => console.error(message) },
  })
  let running = 0
  receiver.on('contact.created', async (event) => {
    note(event.id, running++)
    const { record } = event.data
    if (record.isKiller === true) process.kill(process.pid, 'SIGKILL')
    if (typeof record.ms === 'number')
      await new Promise<void>((resolve) => systemClock.setTimeout(resolve, Number(record.ms)))
    running--
  })
  receiver.work({ concurrency: Number(concurrency), delay: () => 100 })
  process.send?.('ready')
  process.on('disconnect', () => process.exit())
}

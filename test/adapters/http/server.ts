/** A separate process with every host, for the tests of processes. It talks to the test over IPC. */
import { createReceiver } from 'postern'
import { silentLogger } from 'postern/testing'
import { hosts } from './hosts.ts'

const running = await Promise.all(
  hosts.map((host) => {
    const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, deadlineMs: 5_000, logger: silentLogger })
    return host.start(receiver.on('*', () => {}))
  }),
)

let peakRss = 0
let sampling: NodeJS.Timeout | undefined
process.on('message', (message) => {
  clearInterval(sampling)
  peakRss = message === 'reset' ? process.memoryUsage.rss() : peakRss
  // V8 decides when garbage is collected, which differs by 30 MB between releases of Node.
  if (message === 'reset')
    sampling = setInterval(() => {
      gc?.()
      peakRss = Math.max(peakRss, process.memoryUsage.rss())
    }, 25).unref()
  process.send?.({ peakRss })
})

process.send?.({ ports: running.map(({ port }) => port) })
